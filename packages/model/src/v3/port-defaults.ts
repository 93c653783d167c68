import { isObject } from "./json-object.ts";

/** Ports of any Kubernetes shape, with protocol TCP where none is named. */
export function portsWithDefaults(ports: readonly unknown[]): readonly unknown[] {
  return ports.map((port) => {
    if (!isObject(port)) return port;
    const protocol = port["protocol"];
    return protocol === undefined || protocol === null || protocol === "" ? { ...port, protocol: "TCP" } : port;
  });
}

/** Containers with the defaults of their ports. */
export function containersWithDefaults(containers: readonly unknown[]): readonly unknown[] {
  return containers.map((container) =>
    isObject(container) && Array.isArray(container["ports"])
      ? { ...container, ports: portsWithDefaults(container["ports"]) }
      : container,
  );
}

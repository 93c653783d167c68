import type { Family } from "@bulrush/ip";
import { isObject } from "../../v3/json-object.ts";
import {
  type Fields,
  isAbsent,
  readBoolean,
  readInteger,
  readList,
  readObject,
  readString,
  readWord,
} from "../field.ts";
import { expectedBut, type IssueList } from "../issue.ts";
import { portNameProblem } from "../name.ts";
import { addressProblem, netProblem } from "../net.ts";

const PROTOCOLS = ["TCP", "UDP", "SCTP"] as const;

/** Calls `check` for each item of a list of objects; an absent list is empty. */
export function eachObject(
  issues: IssueList,
  path: string,
  value: unknown,
  check: (path: string, item: Fields) => void,
): void {
  for (const [i, item] of readList(issues, path, value).entries()) {
    if (isObject(item)) check(`${path}[${i}]`, item);
    else issues.add(`${path}[${i}]`, expectedBut("an object", item));
  }
}

/** The API server has checked these kinds; what is checked here is what we read of them. */
export function checkPod(issues: IssueList, spec: Fields, status: Fields): void {
  readString(issues, "spec.nodeName", spec["nodeName"]);
  readString(issues, "spec.serviceAccountName", spec["serviceAccountName"]);
  readBoolean(issues, "spec.hostNetwork", spec["hostNetwork"]);
  for (const list of ["containers", "initContainers"]) {
    eachObject(issues, `spec.${list}`, spec[list], (path, container) => {
      eachObject(issues, `${path}.ports`, container["ports"], (at, port) => {
        if (!isAbsent(port["name"]) && port["name"] !== "") issues.check(`${at}.name`, portNameProblem(port["name"]));
        readInteger(issues, `${at}.containerPort`, port["containerPort"] ?? 0, 1, 65_535);
        readInteger(issues, `${at}.hostPort`, port["hostPort"], 0, 65_535);
        readWord(issues, `${at}.protocol`, port["protocol"], PROTOCOLS);
      });
    });
  }
  readString(issues, "status.phase", status["phase"]);
  if (!isAbsent(status["podIP"]) && status["podIP"] !== "")
    issues.check("status.podIP", addressProblem(status["podIP"]));
  eachObject(issues, "status.podIPs", status["podIPs"], (path, item) =>
    issues.check(`${path}.ip`, addressProblem(item["ip"])),
  );
}

export function checkKubernetesNode(issues: IssueList, spec: Fields, status: Fields): void {
  if (!isAbsent(spec["podCIDR"]) && spec["podCIDR"] !== "") issues.check("spec.podCIDR", netProblem(spec["podCIDR"]));
  for (const [i, net] of readList(issues, "spec.podCIDRs", spec["podCIDRs"]).entries())
    issues.check(`spec.podCIDRs[${i}]`, netProblem(net));
  eachObject(issues, "status.addresses", status["addresses"], (path, item) => {
    const { type, address } = item;
    if (type === "InternalIP" || type === "ExternalIP") issues.check(`${path}.address`, addressProblem(address));
  });
}

export function checkService(issues: IssueList, spec: Fields, status: Fields): void {
  for (const name of ["type", "clusterIP", "loadBalancerIP"]) readString(issues, `spec.${name}`, spec[name]);
  eachObject(issues, "spec.ports", spec["ports"], (path, port) => {
    readInteger(issues, `${path}.port`, port["port"] ?? 0, 1, 65_535);
    readInteger(issues, `${path}.nodePort`, port["nodePort"], 0, 65_535);
    readWord(issues, `${path}.protocol`, port["protocol"], PROTOCOLS);
  });
  for (const name of ["clusterIPs", "externalIPs"]) {
    for (const [i, address] of readList(issues, `spec.${name}`, spec[name]).entries())
      if (address !== "None" && address !== "") issues.check(`spec.${name}[${i}]`, addressProblem(address));
  }
  const balancer = readObject(issues, "status.loadBalancer", status["loadBalancer"]);
  eachObject(issues, "status.loadBalancer.ingress", balancer?.["ingress"], (path, { ip }) => {
    if (!isAbsent(ip) && ip !== "") issues.check(`${path}.ip`, addressProblem(ip));
  });
}

const FAMILIES: ReadonlyMap<unknown, Family> = new Map([
  ["IPv4", 4],
  ["IPv6", 6],
]);

export function checkEndpointSlice(issues: IssueList, slice: Fields): void {
  if (isAbsent(slice["addressType"])) issues.add("addressType", "Expected one of IPv4, IPv6, FQDN, found none");
  readWord(issues, "addressType", slice["addressType"], ["IPv4", "IPv6", "FQDN"]);
  const family = FAMILIES.get(slice["addressType"]);
  eachObject(issues, "endpoints", slice["endpoints"], (path, endpoint) => {
    for (const [i, address] of readList(issues, `${path}.addresses`, endpoint["addresses"]).entries()) {
      const at = `${path}.addresses[${i}]`;
      if (family !== undefined) issues.check(at, addressProblem(address, family));
      else if (typeof address !== "string") issues.add(at, expectedBut("a name", address));
    }
  });
  eachObject(issues, "ports", slice["ports"], (path, port) => {
    readInteger(issues, `${path}.port`, port["port"], 1, 65_535);
    readWord(issues, `${path}.protocol`, port["protocol"], PROTOCOLS);
  });
}

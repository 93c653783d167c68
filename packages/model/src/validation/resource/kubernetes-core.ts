import type { Family } from "@bulrush/ip";
import { type Fields, isAbsent, isObject, readBoolean, readInteger, readList, readString, readWord } from "../field.ts";
import { expectedBut, type IssueList } from "../issue.ts";
import { portNameProblem } from "../name.ts";
import { addressProblem, netProblem } from "../net.ts";

const PROTOCOLS = ["TCP", "UDP", "SCTP"] as const;

/** The API server has checked these kinds; what is checked here is what we read of them. */
function eachObject(
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

export function checkService(issues: IssueList, spec: Fields): void {
  readString(issues, "spec.type", spec["type"]);
  eachObject(issues, "spec.ports", spec["ports"], (path, port) => {
    readInteger(issues, `${path}.port`, port["port"] ?? 0, 1, 65_535);
    readInteger(issues, `${path}.nodePort`, port["nodePort"], 0, 65_535);
    readWord(issues, `${path}.protocol`, port["protocol"], PROTOCOLS);
  });
  for (const name of ["clusterIPs", "externalIPs"]) {
    for (const [i, address] of readList(issues, `spec.${name}`, spec[name]).entries())
      if (address !== "None" && address !== "") issues.check(`spec.${name}[${i}]`, addressProblem(address));
  }
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
    for (const [i, address] of readList(issues, `${path}.addresses`, endpoint["addresses"]).entries())
      if (family !== undefined) issues.check(`${path}.addresses[${i}]`, addressProblem(address, family));
  });
  eachObject(issues, "ports", slice["ports"], (path, port) => {
    readInteger(issues, `${path}.port`, port["port"], 1, 65_535);
    readWord(issues, `${path}.protocol`, port["protocol"], PROTOCOLS);
  });
}

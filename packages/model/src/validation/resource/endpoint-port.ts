import { isAbsent, readInteger, readList, readObject } from "../field.ts";
import { expectedBut, type IssueList } from "../issue.ts";
import { portNameProblem } from "../name.ts";
import { hasPorts } from "../../v1/protocol.ts";

const FIELDS: Readonly<Record<"host" | "workload", ReadonlySet<string>>> = {
  host: new Set(["name", "protocol", "port"]),
  workload: new Set(["name", "protocol", "port", "hostPort", "hostIP"]),
};

/** Ports of an endpoint. Those of a workload need no name where they are on the host. */
export function checkEndpointPorts(
  issues: IssueList,
  path: string,
  value: unknown,
  endpoint: "host" | "workload",
): void {
  for (const [i, item] of readList(issues, path, value).entries()) {
    const at = `${path}[${i}]`;
    const port = readObject(issues, at, item ?? 0, FIELDS[endpoint]);
    if (port === undefined) continue;
    const { name, protocol } = port;
    const isUnnamed = endpoint === "workload" && (isAbsent(name) || name === "");
    if (!isUnnamed) issues.check(`${at}.name`, portNameProblem(name));
    if (typeof protocol !== "string" || !hasPorts(protocol.toLowerCase()))
      issues.add(`${at}.protocol`, expectedBut("TCP, UDP or SCTP", protocol));
    readInteger(issues, `${at}.port`, port["port"] ?? 0, 1, 65535);
    readInteger(issues, `${at}.hostPort`, port["hostPort"], 0, 65535);
  }
}

import { parseDscp, type QoSControls } from "@bulrush/model";
import type { ItemIssue } from "../driver/item-issue.ts";
import { warningAt } from "../process/issue.ts";
import { QOS_BOUNDS, type QosControl } from "../process/qos-bounds.ts";
import { parseQuantity } from "./quantity.ts";

const PREFIX = "qos.projectcalico.org/";

const DEFAULT_BURST = 2 ** 32;
const DEFAULT_PACKET_BURST = 5;

/** The QoS annotations of a pod; undefined if there are none. What is no good is clamped or left out, with a warning. */
export function qosControlsOf(
  annotations: Readonly<Record<string, string>>,
  issues: ItemIssue[],
): QoSControls | undefined {
  if (!Object.keys(annotations).some(isQos)) return undefined;
  const out: Record<string, number> = {};
  for (const direction of ["ingress", "egress"] as const)
    Object.assign(out, directionOf(direction, annotations, issues));
  const dscp = annotations[`${PREFIX}dscp`];
  if (dscp !== undefined) {
    const value = parseDscp(dscp);
    if (value === undefined)
      issues.push(warningAt(`metadata.annotations.${PREFIX}dscp`, `Not a DSCP: "${dscp}"; left out`));
    else out["dscp"] = value;
  }
  return Object.keys(out).length > 0 ? out : undefined;
}

function isQos(annotation: string): boolean {
  return annotation.startsWith(PREFIX) || annotation.endsWith("gress-bandwidth");
}

function directionOf(
  direction: "ingress" | "egress",
  annotations: Readonly<Record<string, string>>,
  issues: ItemIssue[],
): Record<string, number> {
  const out: Record<string, number> = {};
  const warn = (control: QosControl, message: string): void => {
    issues.push(warningAt(`metadata.annotations.${PREFIX}${direction}${control}`, message));
  };
  const read = (control: QosControl, text: string | undefined): number | undefined => {
    if (text === undefined) return undefined;
    const value = parseQuantity(text);
    if (value === undefined) {
      warn(control, `Not a quantity: "${text}"; left out`);
      return undefined;
    }
    const [low, high] = QOS_BOUNDS[control];
    const clamped = Math.min(high, Math.max(low, value));
    if (clamped !== value) warn(control, `"${text}" is outside ${low} to ${high}; ${clamped} is used`);
    return clamped;
  };
  const own = (control: QosControl): number | undefined =>
    read(control, annotations[`${PREFIX}${direction}${control}`]);
  const set = (control: QosControl, value: number | undefined): void => {
    if (value !== undefined) out[`${direction}${control}`] = value;
  };
  const bandwidth = own("Bandwidth") ?? read("Bandwidth", annotations[`kubernetes.io/${direction}-bandwidth`]);
  const burst = own("Burst");
  let peakrate = own("Peakrate");
  if (peakrate !== undefined && peakrate <= (bandwidth ?? 0)) {
    warn("Peakrate", "Must be above the bandwidth; left out");
    peakrate = undefined;
  }
  set("Bandwidth", bandwidth);
  if (bandwidth !== undefined) set("Burst", burst ?? DEFAULT_BURST);
  set("Peakrate", peakrate);
  const minburst = own("Minburst");
  if (peakrate !== undefined) set("Minburst", minburst);
  else if (minburst !== undefined) warn("Minburst", "Means nothing without a peak rate; left out");
  const packetRate = own("PacketRate");
  const packetBurst = own("PacketBurst");
  set("PacketRate", packetRate);
  if (packetRate !== undefined) set("PacketBurst", packetBurst ?? DEFAULT_PACKET_BURST);
  set("MaxConnections", own("MaxConnections"));
  return out;
}

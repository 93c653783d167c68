import { isObject, parseDscp, type QoSControls } from "@bulrush/model";
import type { ItemIssue } from "../driver/item-issue.ts";
import { warningAt } from "./issue.ts";

/** Lowest and highest value of each control; the units are bits a second, bits, packets a second, packets, connections. */
export const QOS_BOUNDS = {
  Bandwidth: [1e3, 1e15],
  Burst: [1e3, 34_359_738_360],
  Peakrate: [1.01e3, 1.01e15],
  Minburst: [1e3, 1e8],
  PacketRate: [1, 1e4],
  PacketBurst: [1, 1e4],
  MaxConnections: [1, 4_294_967_295],
} as const;

export type QosControl = keyof typeof QOS_BOUNDS;

const FIELD = new RegExp(`^(?:in|e)gress(${Object.keys(QOS_BOUNDS).join("|")})$`);

/**
 * The controls of an endpoint as it was stored: whole numbers within bounds, for the kernel refuses all rules for the sake
 * of one that is not. 0 is none, as with those who do not leave it out. What is no good is clamped or left out, with a
 * warning.
 */
export function boundQos(controls: unknown, issues: ItemIssue[]): QoSControls | undefined {
  if (!isObject(controls)) {
    issues.push(warningAt("spec.qosControls", `Expected an object, found ${JSON.stringify(controls)}; left out`));
    return undefined;
  }
  const out: Record<string, number> = {};
  for (const [name, value] of Object.entries(controls)) {
    if (value === undefined || value === null) continue;
    const warn = (message: string): void => {
      issues.push(warningAt(`spec.qosControls.${name}`, message));
    };
    if (name === "dscp") {
      const dscp = parseDscp(value);
      if (dscp === undefined) warn(`Not a DSCP: ${JSON.stringify(value)}; left out`);
      else out[name] = dscp;
      continue;
    }
    const control = FIELD.exec(name)?.[1] as QosControl | undefined;
    if (control === undefined || value === 0) continue;
    if (typeof value !== "number" || !Number.isFinite(value)) {
      warn(`Not a number: ${JSON.stringify(value)}; left out`);
      continue;
    }
    const [low, high] = QOS_BOUNDS[control];
    const clamped = Math.min(high, Math.max(low, Math.trunc(value)));
    if (clamped !== value) warn(`${value} is no whole number of ${low} to ${high}; ${clamped} is used`);
    out[name] = clamped;
  }
  return Object.keys(out).length > 0 ? out : undefined;
}

import { formatAddress } from "@bulrush/ip";
import type { PodPlan, ServedPort } from "./plan.ts";

/** One pair of pods and one port: what the demo tries and explains. */
export interface PodFlow extends ServedPort {
  readonly from: PodPlan;
  readonly to: PodPlan;
  /** Where to: the pods' common family, IPv4 first. */
  readonly address: PodPlan["addresses"][number];
}

/** Every pod to every other pod's ports. Pairs without a common address family have no flow. */
export function allFlows(pods: readonly PodPlan[]): PodFlow[] {
  const flows: PodFlow[] = [];
  for (const from of pods) {
    for (const to of pods) {
      if (from === to) continue;
      const address = ([4, 6] as const)
        .filter((family) => from.addresses.some((own) => own.family === family))
        .map((family) => to.addresses.find((other) => other.family === family))
        .find((found) => found !== undefined);
      if (address === undefined) continue;
      for (const { protocol, port } of to.ports) flows.push({ from, to, address, protocol, port });
    }
  }
  return flows;
}

/** The flow in words, for messages. */
export function describeFlow(flow: PodFlow): string {
  return `${flow.from.name} -> ${flow.to.name} (${formatAddress(flow.address)}) ${flow.protocol}/${flow.port}`;
}

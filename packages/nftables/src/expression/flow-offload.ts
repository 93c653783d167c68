import type { AttributeReader, MessageWriter } from "@bulrush/netlink";

/** Hands the packet's connection to a flowtable of the same table. */
export interface FlowOffloadExpression {
  readonly name: "flow_offload";
  readonly flowtable: string;
}

/** enum nft_offload_attributes */
const NFTA_FLOW_TABLE_NAME = 1;

export function writeFlowOffload(writer: MessageWriter, offload: FlowOffloadExpression): void {
  writer.attrString(NFTA_FLOW_TABLE_NAME, offload.flowtable);
}

export function readFlowOffload(attributes: AttributeReader): FlowOffloadExpression {
  let flowtable = "";
  while (attributes.next()) if (attributes.type === NFTA_FLOW_TABLE_NAME) flowtable = attributes.string();
  return { name: "flow_offload", flowtable };
}

export function flowOffloadKey(offload: FlowOffloadExpression): string {
  return `flow_offload ${offload.flowtable}`;
}

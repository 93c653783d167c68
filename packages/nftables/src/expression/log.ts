import type { AttributeReader, MessageWriter } from "@bulrush/netlink";

/** Logs the packet: to the kernel's log at a level, or to a netlink group. */
export interface LogExpression {
  readonly name: "log";
  readonly prefix: string;
  readonly target:
    | { readonly kind: "level"; readonly level: number }
    /** `snaplen` 0: whole packets. */
    | { readonly kind: "group"; readonly group: number; readonly snaplen: number };
}

/** enum nft_log_attributes */
const NFTA_LOG = { GROUP: 1, PREFIX: 2, SNAPLEN: 3, QTHRESHOLD: 4, LEVEL: 5 } as const;
/** LOGLEVEL_WARNING: what a rule without level means. */
const DEFAULT_LEVEL = 4;

export function writeLog(writer: MessageWriter, log: LogExpression): void {
  if (log.prefix !== "") writer.attrString(NFTA_LOG.PREFIX, log.prefix);
  if (log.target.kind === "level") {
    writer.attrU32be(NFTA_LOG.LEVEL, log.target.level);
    return;
  }
  writer.attrU16be(NFTA_LOG.GROUP, log.target.group);
  if (log.target.snaplen > 0) writer.attrU32be(NFTA_LOG.SNAPLEN, log.target.snaplen);
}

export function readLog(attributes: AttributeReader): LogExpression {
  let prefix = "";
  let group: number | undefined;
  let snaplen = 0;
  let level = DEFAULT_LEVEL;
  while (attributes.next()) {
    if (attributes.type === NFTA_LOG.PREFIX) prefix = attributes.string();
    else if (attributes.type === NFTA_LOG.GROUP) group = attributes.u16be();
    else if (attributes.type === NFTA_LOG.SNAPLEN) snaplen = attributes.u32be();
    else if (attributes.type === NFTA_LOG.LEVEL) level = attributes.u32be();
  }
  return {
    name: "log",
    prefix,
    target: group === undefined ? { kind: "level", level } : { kind: "group", group, snaplen },
  };
}

export function logKey(log: LogExpression): string {
  const { target } = log;
  const where = target.kind === "level" ? `level ${target.level}` : `group ${target.group} snaplen ${target.snaplen}`;
  return `log ${JSON.stringify(log.prefix)} ${where}`;
}

import { formatAddress } from "@bulrush/ip";
import { hasErrno } from "../errors.ts";
import { NETLINK_NETFILTER, NLA_F_NESTED } from "../message/header.ts";
import { NFGEN_BYTES, writeNfgen } from "../message/nfgen.ts";
import type { MessageReader } from "../message/message-reader.ts";
import { AF_UNSPEC } from "../route/constants.ts";
import { kernelFamily, mustAddress } from "../route/text-codec.ts";
import { NetlinkSocket, type NetlinkSocketOptions } from "../socket/netlink-socket.ts";
import type { ConntrackConnection, Flow, FlowFilter } from "./flow.ts";
import { CTA, decodeFlow, flowMatches, type ParsedFilter, parseFilter, writeFilter } from "./flow-codec.ts";

/** Subsystem 1 of nfnetlink in the high byte, the message in the low one. */
const CT_GET = (1 << 8) | 1;
const CT_DELETE = (1 << 8) | 2;

/** Up to this many addresses the kernel's filtered delete, a walk of its table each, is cheaper than one listing. */
const FEW_ADDRESSES = 4;

/** Both have defaults that fit a host. */
export interface ConntrackOptions extends Pick<NetlinkSocketOptions, "namespace"> {
  /** `listed`: never use the kernel's filtered delete (kernels before 6.9 have none). Default: try it first. */
  readonly deletion?: "auto" | "listed";
}

/** Opens the connection tracking of a network namespace. The caller closes it. Throws NETLINK_SYSCALL. */
export function openConntrack(options: ConntrackOptions = {}): ConntrackConnection {
  return conntrackOn(NetlinkSocket.open(NETLINK_NETFILTER, options), options.deletion);
}

/** The connection tracking that answers on a socket, which `close` closes. */
export function conntrackOn(
  socket: Pick<NetlinkSocket, "dump" | "request" | "close">,
  deletion: ConntrackOptions["deletion"] = "auto",
): ConntrackConnection {
  let filteredDelete = deletion !== "listed";

  function dump<T>(
    family: number,
    filter: ParsedFilter | undefined,
    decode: (message: MessageReader) => T | undefined,
  ): T[] {
    return socket.dump(
      "List flows",
      CT_GET,
      (writer) => {
        writeNfgen(writer, family);
        if (filter !== undefined && kernelCanFilter(filter)) writeFilter(writer, filter);
      },
      decode,
    );
  }

  function flows(filter?: FlowFilter): Flow[] {
    const parsed = filter === undefined ? undefined : parseFilter(filter);
    return dump(parsed === undefined ? AF_UNSPEC : kernelFamily(parsed.family), parsed, (message) => {
      const flow = decodeFlow(message);
      return flow === undefined || (parsed !== undefined && !flowMatches(flow, parsed)) ? undefined : flow;
    });
  }

  function deleteFlows(filter: FlowFilter): void {
    const parsed = parseFilter(filter);
    if (filteredDelete && kernelCanFilter(parsed)) {
      try {
        socket.request("Delete flows", CT_DELETE, 0, (writer) => {
          writeNfgen(writer, kernelFamily(parsed.family));
          writeFilter(writer, parsed);
        });
        return;
      } catch (error) {
        // An older kernel reads the filter's tuple as that of one flow, and finds it incomplete: nothing is deleted.
        if (!hasErrno(error, "EINVAL", "EOPNOTSUPP", "ENOENT")) throw error;
        filteredDelete = false;
      }
    }
    deleteListed(parsed.family, parsed, (flow) => flowMatches(flow, parsed));
  }

  /**
   * Lists the flows of a family that match and deletes them one by one, and says how many. `filter` may spare the listing
   * of others.
   */
  function deleteListed(family: 4 | 6, filter: ParsedFilter | undefined, matches: (flow: Flow) => boolean): number {
    let deleted = 0;
    let failure: unknown;
    for (const flow of dump(kernelFamily(family), filter, (message) => decodeIdentity(message, matches))) {
      try {
        socket.request("Delete flow", CT_DELETE, 0, (writer) => {
          writeNfgen(writer, kernelFamily(family));
          writer.attrBytes(CTA.TUPLE_ORIG | NLA_F_NESTED, flow.tuple);
          if (flow.zone !== undefined) writer.attrBytes(CTA.ZONE, flow.zone);
        });
        deleted++;
      } catch (error) {
        // It ended in the meantime. Any other failure is one flow's (EBUSY of an offloaded one), and holds up no other.
        if (!hasErrno(error, "ENOENT")) failure ??= error;
      }
    }
    if (failure !== undefined) throw failure;
    return deleted;
  }

  function deleteFlowsWhere(matches: (flow: Flow) => boolean): number {
    let deleted = 0;
    const steps = ([4, 6] as const).map((family) => () => {
      deleted += deleteListed(family, undefined, matches);
    });
    allOf(steps);
    return deleted;
  }

  function deleteFlowsOf(addresses: readonly string[]): void {
    const byFamily = { 4: new Set<string>(), 6: new Set<string>() };
    for (const text of addresses) {
      const address = mustAddress(text);
      byFamily[address.family].add(formatAddress(address));
    }
    const steps: (() => void)[] = [];
    for (const family of [4, 6] as const) {
      const wanted = byFamily[family];
      if (family === 4 && filteredDelete && wanted.size <= FEW_ADDRESSES)
        for (const address of wanted) {
          steps.push(() => deleteFlows({ originalSource: address }));
          steps.push(() => deleteFlows({ replySource: address }));
        }
      else if (wanted.size > 0) {
        const matches = ({ original, reply }: Flow): boolean => wanted.has(original.source) || wanted.has(reply.source);
        steps.push(() => void deleteListed(family, undefined, matches));
      }
    }
    allOf(steps);
  }

  return { flows, deleteFlows, deleteFlowsOf, deleteFlowsWhere, close: () => socket.close() };
}

/** What fails of one address, or family, holds up no other: the first failure is thrown at the end. */
function allOf(steps: readonly (() => void)[]): void {
  let failure: unknown;
  for (const step of steps)
    try {
      step();
    } catch (error) {
      failure ??= error;
    }
  if (failure !== undefined) throw failure;
}

/**
 * For IPv6 the kernel has the comparison the wrong way round (ctnetlink_filter_match_tuple takes the result of
 * ipv6_addr_cmp for "equal"): a filter would list, or delete, exactly the flows that do not match. IPv6 flows are
 * listed whole and picked here.
 */
function kernelCanFilter(filter: ParsedFilter): boolean {
  return filter.family === 4;
}

/** The bytes that name one flow: its original tuple, and its zone if it is in one. `undefined` when it is another's. */
function decodeIdentity(
  message: MessageReader,
  matches: (flow: Flow) => boolean,
): { tuple: Uint8Array; zone: Uint8Array | undefined } | undefined {
  const flow = decodeFlow(message);
  if (flow === undefined || !matches(flow)) return undefined;
  let tuple: Uint8Array | undefined;
  let zone: Uint8Array | undefined;
  const attributes = message.attributes(NFGEN_BYTES);
  while (attributes.next()) {
    if (attributes.type === CTA.TUPLE_ORIG) tuple = attributes.bytes().slice();
    else if (attributes.type === CTA.ZONE) zone = attributes.bytes().slice();
  }
  return tuple === undefined ? undefined : { tuple, zone };
}

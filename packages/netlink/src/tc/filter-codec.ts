import type { AttributeReader } from "../message/attribute-reader.ts";
import type { MessageReader } from "../message/message-reader.ts";
import type { MessageWriter } from "../message/message-writer.ts";
import { badArgument } from "../route/text-codec.ts";
import { type Filter, INGRESS_HANDLE, type Redirect } from "./qdisc.ts";
import { TC_BODY_BYTES, TCA, writeTcBody } from "./qdisc-codec.ts";

/** linux/pkt_cls.h, linux/tc_act/tc_mirred.h */
const TCA_U32 = { SEL: 5, ACT: 7 } as const;
const TCA_ACT = { KIND: 1, OPTIONS: 2 } as const;
const TCA_MIRRED_PARMS = 2;
const TCA_EGRESS_REDIR = 1;
const TC_ACT_STOLEN = 4;
const TC_U32_TERMINAL = 1;
/** `struct tc_mirred`: tc_gen (index, capab, action, refcnt, bindcnt), eaction, ifindex. */
const MIRRED_BYTES = 28;
const MIRRED_IFINDEX = 24;
/** `struct tc_u32_sel` (16 bytes) with one key (16 bytes: mask, value, offset, offset mask). */
const SELECTOR_BYTES = 32;

/** Priority in the upper half; htons(ETH_P_ALL) in the lower one. */
const ALL_PROTOCOLS = (1 << 16) | 0x0300;

/**
 * A u32 filter with one key that compares nothing, and a mirred action: u32 is in every kernel that has filters, matchall
 * is not.
 */
export function writeRedirect(writer: MessageWriter, { device, to }: Redirect): void {
  if (device <= 0) throw badArgument("interface index", device);
  if (to <= 0) throw badArgument("interface index", to);
  writeTcBody(writer, device, 0, INGRESS_HANDLE, ALL_PROTOCOLS);
  writer.attrString(TCA.KIND, "u32");
  const options = writer.nest(TCA.OPTIONS);
  const actions = writer.nest(TCA_U32.ACT);
  const first = writer.nest(1);
  writer.attrString(TCA_ACT.KIND, "mirred");
  const mirred = writer.nest(TCA_ACT.OPTIONS);
  const parms = new Uint8Array(MIRRED_BYTES);
  const view = new DataView(parms.buffer);
  view.setInt32(8, TC_ACT_STOLEN, true);
  view.setInt32(20, TCA_EGRESS_REDIR, true);
  view.setUint32(MIRRED_IFINDEX, to, true);
  writer.attrBytes(TCA_MIRRED_PARMS, parms);
  writer.endNest(mirred);
  writer.endNest(first);
  writer.endNest(actions);
  const selector = new Uint8Array(SELECTOR_BYTES);
  selector[0] = TC_U32_TERMINAL;
  selector[2] = 1;
  writer.attrBytes(TCA_U32.SEL, selector);
  writer.endNest(options);
}

/** `undefined` for what stands for a table of filters, or for none. */
export function decodeFilter(message: MessageReader): Filter | undefined {
  const device = message.i32(4);
  let kind = "";
  let redirectTo: number | undefined;
  let isWhole = false;
  const attributes = message.attributes(TC_BODY_BYTES);
  while (attributes.next())
    if (attributes.type === TCA.KIND) kind = attributes.string();
    else if (attributes.type === TCA.OPTIONS) {
      const options = attributes.nested();
      // A u32 filter is listed with its tables, which have neither selector nor action.
      isWhole = kind !== "u32";
      while (options.next())
        if (kind === "u32" && options.type === TCA_U32.SEL) isWhole = true;
        else if (kind === "u32" && options.type === TCA_U32.ACT) redirectTo = redirectOf(options.nested());
    }
  if (!isWhole) return undefined;
  return { device, kind, ...(redirectTo === undefined ? {} : { redirectTo }) };
}

/** The device of the first action that redirects. */
function redirectOf(actions: AttributeReader): number | undefined {
  while (actions.next()) {
    const action = actions.nested();
    let kind = "";
    while (action.next())
      if (action.type === TCA_ACT.KIND) kind = action.string();
      else if (action.type === TCA_ACT.OPTIONS && kind === "mirred") {
        const options = action.nested();
        while (options.next())
          if (options.type === TCA_MIRRED_PARMS && options.length >= MIRRED_BYTES) {
            const bytes = options.bytes();
            const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
            if (view.getInt32(20, true) === TCA_EGRESS_REDIR) return view.getUint32(MIRRED_IFINDEX, true);
          }
      }
  }
  return undefined;
}

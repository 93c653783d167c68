import type { Expression } from "../expression/expression.ts";
import { invalid } from "../invalid.ts";
import type { Statement } from "../statement.ts";
import type { RuleBuilder } from "./rule-builder.ts";

const TCP = 6;
/** enum nft_reject_inet_code */
const ICMPX = { "icmpx-port-unreachable": 1, "icmpx-admin-prohibited": 3 } as const;
/** linux/icmp.h, linux/icmpv6.h: ICMP_PORT_UNREACH, ICMP_PKT_FILTERED; ICMPV6_PORT_UNREACH, ICMPV6_ADM_PROHIBITED. */
const ICMP4 = { "icmpx-port-unreachable": 3, "icmpx-admin-prohibited": 13 } as const;
const ICMP6 = { "icmpx-port-unreachable": 4, "icmpx-admin-prohibited": 1 } as const;

/**
 * The common ICMP codes exist in `inet` tables only; in `ip` and `ip6` each becomes the family's own. A reset needs a
 * rule that has matched TCP: nft would add that match in front of the rule, and change what its other statements see.
 */
export function rejectExpression(
  builder: RuleBuilder,
  reason: Extract<Statement, { kind: "reject" }>["with"],
): Expression {
  if (reason === "tcp-reset") {
    if (builder.l4proto !== TCP) throw invalid("reject: a rule that has not matched TCP cannot end", reason);
    return { name: "reject", type: "tcp-reset", code: 0 };
  }
  switch (builder.family) {
    case "ip":
      return { name: "reject", type: "icmp", code: ICMP4[reason] };
    case "ip6":
      return { name: "reject", type: "icmp", code: ICMP6[reason] };
    case "inet":
      return { name: "reject", type: "icmpx", code: ICMPX[reason] };
    case "arp":
      throw invalid("reject in a table of family arp:", reason);
  }
}

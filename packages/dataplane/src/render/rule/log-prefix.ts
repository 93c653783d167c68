import type { PolicyID } from "@bulrush/proto";
import { SHORT_KINDS } from "../names.ts";

/** The kernel keeps 127 bytes and a NUL (NF_LOG_PREFIXLEN 128); ": " is part of them. */
const MAX_PREFIX = 125;

/** Whose rule logs: a policy of a tier, or a profile. */
export type RuleOwner =
  | { readonly kind: "policy"; readonly id: PolicyID; readonly tier: string }
  | { readonly kind: "profile"; readonly name: string };

/**
 * The text in front of a logged packet: `%t` is the tier, `%k` the kind of policy, `%n` its name, `%p` its namespace and
 * name. Any other `%` stands for itself; there is no escape, so `%%t` is a `%` and the tier. Ends in ": ",
 * but for a template of nothing: that gives nothing.
 */
export function logPrefix(template: string, owner: RuleOwner): string {
  if (template === "") return "";
  const words =
    owner.kind === "policy"
      ? {
          t: owner.tier,
          k: SHORT_KINDS[owner.id.kind],
          n: owner.id.name,
          p: owner.id.namespace === "" ? owner.id.name : `${owner.id.namespace}/${owner.id.name}`,
        }
      : { t: "", k: "pro", n: owner.name, p: owner.name };
  const text = template.replace(/%([tknp])/g, (_whole, word: "t" | "k" | "n" | "p") => words[word]);
  return `${printable(text).slice(0, MAX_PREFIX)}: `;
}

/** Quotes, line ends and what is not ASCII would break the line of text that nft prints. */
function printable(text: string): string {
  return text.replace(/[^ -~]|["\\]/g, "_");
}

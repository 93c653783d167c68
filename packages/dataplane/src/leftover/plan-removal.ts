import { type TableReadback, Transaction } from "@bulrush/nftables";

/** Chains that the reference system made in the tables of iptables-nft: its own, and those of its older versions. */
const OWN_CHAIN = /^(cali|califw|felix)-/;
/** Where a verdict of a rule leads, in the canonical text of its expressions. */
const LEADS_TO = /\b(?:jump|goto) ((?:cali|califw|felix)-[^\s;]*)/;
/** The mark that the reference system puts on its rules, as text and as the bytes of iptables' comment match. */
const OWN_COMMENT = /^cali:[A-Za-z0-9_-]{1,16}/;
const COMMENT_MATCH = /\bunknown match 0x([0-9a-f]+)/g;
/** At the beginning of the comment: the byte before it ends what comes ahead, or is of the attribute's head (a type below 256). */
const OWN_COMMENT_BYTES = new RegExp(`^(?:..)*?00${Buffer.from("cali:").toString("hex")}`);
const COMMENT_NAME_BYTES: string = Buffer.from("comment\0").toString("hex");

/**
 * What takes the rules of the reference system out of a table of iptables-nft: its rules in base chains (by where they
 * lead, and by its mark), then its chains. Everything else stays, also rules of others that lead to its chains: then the
 * chains stay as well, empty.
 */
export function planRemoval(table: TableReadback): Transaction {
  const ref = { family: table.family, name: table.name };
  const transaction = new Transaction();
  const own = [...table.chains.values()].filter(({ name }) => OWN_CHAIN.test(name));
  const held = new Set<string>();
  for (const { base, name, rules } of table.chains.values()) {
    if (OWN_CHAIN.test(name)) continue;
    for (const { comment, handle, key } of rules) {
      const target = LEADS_TO.exec(key)?.[1];
      if (base !== undefined && (target !== undefined || isMarked(key, comment)))
        transaction.deleteRule(ref, name, handle);
      else if (target !== undefined) held.add(target);
    }
  }
  for (const { name, rules } of own) if (rules.length > 0) transaction.flushChain(ref, name);
  for (const { name } of own) if (!held.has(name)) transaction.deleteChain(ref, name);
  return transaction;
}

function isMarked(key: string, comment: string | undefined): boolean {
  if (comment !== undefined && OWN_COMMENT.test(comment)) return true;
  return [...key.matchAll(COMMENT_MATCH)].some(
    ([, bytes = ""]) => bytes.includes(COMMENT_NAME_BYTES) && OWN_COMMENT_BYTES.test(bytes),
  );
}

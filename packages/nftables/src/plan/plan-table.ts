import type { TableRef } from "../operation.ts";
import type { TableReadback } from "../readback.ts";
import type { TableState } from "../state.ts";
import { Transaction } from "../transaction.ts";
import { type ChainPlan, planChains } from "./plan-chains.ts";
import { flowtableKey, planFlowtables } from "./plan-flowtables.ts";
import { type MapPlan, planMaps, planSets, type SetPlan } from "./plan-sets.ts";

/**
 * The fewest writes that make `desired` out of `current`: the last state that was written (compared by identity
 * first, so keep unchanged chains, sets and rules as the same objects), or what was read back. `undefined` for a table
 * that does not exist. Everything in the table that is not desired goes. Nothing to do: an empty transaction.
 *
 * A table that somebody has put to sleep is woken by an operation ahead of all else. The kernel refuses base chains that are
 * added with it: it has to be run before the others, in a transaction of its own.
 *
 * Pure. Handed a `transaction`, it appends to it, so that several tables share one batch. Throws NFT_INVALID for rules
 * that cannot be encoded.
 *
 * The order within the batch keeps every reference valid at every step, as the kernel demands:
 *
 *     new table, new chains          so that rules and map elements have their targets
 *     flush or cut changed chains    takes away references to sets, maps and chains
 *     map elements out               takes away references to chains
 *     flow tables, maps, sets,       that are not wanted, or are of another type than wanted
 *     chains out
 *     remade chains, new sets, maps, flow tables
 *     set elements out, then in      an interval set refuses overlaps
 *     map elements in
 *     rules in
 */
export function planTable(
  desired: TableState,
  current: TableState | TableReadback | undefined,
  transaction: Transaction = new Transaction(),
): Transaction {
  const table: TableRef = { family: desired.family, name: desired.name };
  if (current === undefined) transaction.addTable(table);
  else if ("asleep" in current && current.asleep) transaction.addTable(table, false);
  const sets = planSets(desired, current);
  const maps = planMaps(desired, current);
  const flowtables = planFlowtables(desired, current, sets);
  const remade = new Set([...sets, ...maps].filter((plan) => plan.remake).map((plan) => plan.shape.name));
  for (const name of flowtables.remade) remade.add(flowtableKey(name));
  const chains = planChains(desired, current, remade);

  for (const chain of chains) if (chain.action === "create") transaction.addChain(table, chain.name, chain.base);
  for (const chain of chains) writeRemovals(transaction, table, chain);
  for (const map of maps) if (!map.remake) transaction.deleteMapElements(table, map.shape, map.removed);
  for (const name of flowtables.removed) transaction.deleteFlowtable(table, name);
  deleteObjects(transaction, table, desired, current, sets, maps);
  for (const chain of chains)
    if (chain.action === "delete" || chain.action === "remake") transaction.deleteChain(table, chain.name);
  for (const chain of chains) {
    if (chain.action === "remake") transaction.addChain(table, chain.name, chain.base);
    else if (chain.action === "update-policy") transaction.addChain(table, chain.name, chain.base);
  }
  for (const set of sets) if (set.create || set.remake) transaction.addSet(table, set.shape);
  for (const map of maps) if (map.create || map.remake) transaction.addMap(table, map.shape);
  for (const name of flowtables.added) transaction.addFlowtable(table, { name, devices: [] });
  for (const set of sets) {
    if (!set.remake) transaction.deleteElements(table, set.shape, set.removed);
    transaction.addElements(table, set.shape, set.added);
  }
  for (const map of maps) transaction.addMapElements(table, map.shape, map.added);
  for (const chain of chains) for (const rule of chain.added) transaction.addRule(table, chain.name, rule);
  return transaction;
}

function writeRemovals(transaction: Transaction, table: TableRef, chain: ChainPlan): void {
  if (chain.flush) transaction.flushChain(table, chain.name);
  else for (const handle of chain.removed) transaction.deleteRule(table, chain.name, handle);
}

function deleteObjects(
  transaction: Transaction,
  table: TableRef,
  desired: TableState,
  current: TableState | TableReadback | undefined,
  sets: readonly SetPlan[],
  maps: readonly MapPlan[],
): void {
  if (current === undefined) return;
  // A map goes before the sets and chains, since its elements hold on to chains.
  for (const map of maps) if (map.remake) transaction.deleteMap(table, map.shape.name);
  for (const name of current.maps.keys()) if (!desired.maps.has(name)) transaction.deleteMap(table, name);
  for (const set of sets) if (set.remake) transaction.deleteSet(table, set.shape.name);
  for (const name of current.sets.keys()) if (!desired.sets.has(name)) transaction.deleteSet(table, name);
}

import { ruleKey } from "../compile/rule-key.ts";
import type { RuleHandle } from "../operation.ts";
import type { ChainReadback, RuleReadback, TableReadback } from "../readback.ts";
import { flowtableKey } from "./plan-flowtables.ts";
import type { Statement } from "../statement.ts";
import type { BaseChain, ChainState, RuleState, TableFamily, TableState } from "../state.ts";

/** What to do to one chain. */
export interface ChainPlan {
  readonly name: string;
  /**
   * `create`: it is not there. `delete`: it is not wanted. `remake`: its hook, type or priority differs, which the
   * kernel does not change. `update-policy`: only its policy differs. `keep`: only its rules differ.
   */
  readonly action: "create" | "delete" | "remake" | "update-policy" | "keep";
  readonly base?: BaseChain;
  /** Take all rules out first. */
  readonly flush: boolean;
  /** Or only these. */
  readonly removed: readonly RuleHandle[];
  /** Rules to append then. */
  readonly added: readonly RuleState[];
}

type CurrentChain = ChainState | ChainReadback;

/**
 * Plans of the chains that differ; unchanged ones have none. `remade` names the sets, maps and ({@link flowtableKey})
 * flow tables that are deleted and made anew: chains that use them are written anew too, since no rule may hold on to the old ones.
 */
export function planChains(
  desired: TableState,
  current: TableState | TableReadback | undefined,
  remade: ReadonlySet<string>,
): ChainPlan[] {
  const plans: ChainPlan[] = [];
  for (const chain of desired.chains.values()) {
    const plan = planChain(chain, current?.chains.get(chain.name), desired.family, remade);
    if (plan !== undefined) plans.push(plan);
  }
  if (current === undefined) return plans;
  for (const chain of current.chains.values())
    if (!desired.chains.has(chain.name))
      plans.push({ name: chain.name, action: "delete", flush: chain.rules.length > 0, removed: [], added: [] });
  return plans;
}

function planChain(
  desired: ChainState,
  current: CurrentChain | undefined,
  family: TableFamily,
  remade: ReadonlySet<string>,
): ChainPlan | undefined {
  const { name, base, rules } = desired;
  const withBase = base === undefined ? {} : { base };
  if (current === undefined) return { name, action: "create", ...withBase, flush: false, removed: [], added: rules };
  const usesRemade = remade.size > 0 && rules.some((rule) => usesAny(rule, remade));
  if (desired === current && !usesRemade) return undefined;
  const flush = current.rules.length > 0;
  if (!sameHook(base, current.base)) return { name, action: "remake", ...withBase, flush, removed: [], added: rules };
  const action = base?.policy === current.base?.policy ? "keep" : "update-policy";
  if (usesRemade) return { name, action, ...withBase, flush, removed: [], added: rules };
  const changes = planRules(rules, current.rules, family);
  if (changes === undefined && action === "keep") return undefined;
  return { name, action, ...withBase, ...(changes ?? { flush: false, removed: [], added: [] }) };
}

function sameHook(a: BaseChain | undefined, b: BaseChain | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.type === b.type && a.hook === b.hook && a.priority === b.priority;
}

/** The rules that both begin with stay; what follows is taken out and written anew. `undefined` when nothing differs. */
function planRules(
  desired: readonly RuleState[],
  current: readonly (RuleState | RuleReadback)[],
  family: TableFamily,
): Pick<ChainPlan, "flush" | "removed" | "added"> | undefined {
  if (desired === current) return undefined;
  let same = 0;
  while (same < desired.length && same < current.length) {
    const [want, have] = [desired[same], current[same]];
    if (want === undefined || have === undefined || !sameRule(want, have, family)) break;
    same++;
  }
  if (same === desired.length && same === current.length) return undefined;
  const added = desired.slice(same);
  if (same === current.length) return { flush: false, removed: [], added };
  const handles = current.slice(same).map((rule) => ("handle" in rule ? rule.handle : undefined));
  const removed = handles.filter((handle) => handle !== undefined);
  // Without handles, or with most rules different, the whole chain is written anew.
  if (same === 0 || removed.length !== handles.length) return { flush: true, removed: [], added: desired };
  return { flush: false, removed, added };
}

function sameRule(want: RuleState, have: RuleState | RuleReadback, family: TableFamily): boolean {
  if (want === have) return true;
  if (want.comment !== have.comment) return false;
  if ("statements" in have && sameObjects(want.statements, have.statements)) return true;
  return ruleKey(want, family) === ("key" in have ? have.key : ruleKey(have, family));
}

/** Rules that were rendered again share most of their statements. */
function sameObjects(a: readonly Statement[], b: readonly Statement[]): boolean {
  return a.length === b.length && a.every((statement, i) => statement === b[i]);
}

function usesAny(rule: RuleState, names: ReadonlySet<string>): boolean {
  return rule.statements.some((statement) => {
    if (statement.kind === "vmap") return names.has(statement.map);
    if (statement.kind === "flow-offload") return names.has(flowtableKey(statement.flowtable));
    if (statement.kind === "set-element") return names.has(statement.set);
    return statement.kind === "match" && statement.right.kind === "set" && names.has(statement.right.name);
  });
}

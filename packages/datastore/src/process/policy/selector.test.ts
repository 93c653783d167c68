import assert from "node:assert/strict";
import { test } from "node:test";
import type { EntityRule } from "@bulrush/model";
import { parseSelector } from "@bulrush/selector";
import { type AppliesTo, appliesToSelector, entitySelector } from "./selector.ts";

const S = "mylabel == 'selectme'";
const NS = "projectcalico.org/namespace";
const SA = "projectcalico.org/serviceaccount";
const Q = 'pcns.name == "testing"';
const R = 'pcsa.role == "development"';

const APPLIES: readonly (readonly [spec: AppliesTo, namespace: string, want: string])[] = [
  [{}, "ns1", `${NS} == 'ns1'`],
  [{ selector: S }, "ns1", `(${S}) && ${NS} == 'ns1'`],
  [{ selector: S, serviceAccountSelector: "role == 'development'" }, "ns2", `((${S}) && ${NS} == 'ns2') && ${R}`],
  [{ serviceAccountSelector: "all()" }, "ns2", `(${NS} == 'ns2') && all()`],
  [{}, "", ""],
  [{ selector: S }, "", S],
  [{ selector: S, serviceAccountSelector: "all()" }, "", `(${S}) && has(${SA})`],
  [{ serviceAccountSelector: "all()" }, "", `has(${SA})`],
  [{ selector: S, namespaceSelector: "name == 'testing'" }, "", `(${S}) && ${Q}`],
  [{ namespaceSelector: "name == 'testing'" }, "", Q],
  [
    { selector: S, namespaceSelector: "name == 'testing'", serviceAccountSelector: "role == 'development'" },
    "",
    `((${S}) && ${Q}) && ${R}`,
  ],
  // A user's own all(), and one in a value, mean what they say.
  [{ selector: "all()", namespaceSelector: "all()" }, "", `(all()) && has(${NS})`],
  [{ namespaceSelector: "x == 'all()' || all()" }, "", `(pcns.x == "all()" || has(${NS}))`],
  // A namespaced policy has no namespace selector.
  [{ namespaceSelector: "all()" }, "ns1", `${NS} == 'ns1'`],
];

for (const [spec, namespace, want] of APPLIES) {
  test(`appliesToSelector() makes ${JSON.stringify(spec)} in "${namespace}" ${want}`, () => {
    assert.equal(appliesToSelector(spec, namespace), want);
    parseSelector(want);
  });
}

const SIDES: readonly (readonly [side: EntityRule, namespace: string, want: string])[] = [
  [{}, "ns2", ""],
  [{ nets: ["10.0.0.0/8"] }, "ns2", ""],
  [{ selector: S }, "ns2", `(${NS} == 'ns2') && (${S})`],
  [{ notSelector: S }, "ns", `${NS} == 'ns'`],
  [{ namespaceSelector: "key == 'value'", selector: "has(t)" }, "ns", '(pcns.key == "value") && (has(t))'],
  [{ namespaceSelector: "a == 'v'" }, "ns", 'pcns.a == "v"'],
  [
    { namespaceSelector: "!has(key) || (has(key) && !key in {'value'})" },
    "ns",
    '(!has(pcns.key) || (has(pcns.key) && !pcns.key in {"value"}))',
  ],
  [
    { serviceAccounts: { names: ["sa1", "sa2"], selector: "key == 'value1'" } },
    "n",
    `(${NS} == 'n') && ((pcsa.key == "value1") && (${SA} in {"sa1", "sa2"}))`,
  ],
  [{ serviceAccounts: { names: ["sa1"] } }, "", `${SA} in {"sa1"}`],
  [{ serviceAccounts: { names: ["sa1"] }, selector: S }, "n", `(${NS} == 'n') && ((${SA} in {"sa1"}) && (${S}))`],
  [{ namespaceSelector: "global()", selector: "has(label3)" }, "n", `(!has(${NS})) && (has(label3))`],
  [{ namespaceSelector: "all()" }, "n", `has(${NS})`],
  [{ namespaceSelector: "!global()" }, "n", `has(${NS})`],
  [{ serviceAccounts: {} }, "", ""],
  [{ selector: S }, "", S],
  [{ notSelector: S }, "", ""],
];

for (const [side, namespace, want] of SIDES) {
  test(`entitySelector() makes ${JSON.stringify(side)} in "${namespace}" ${want}`, () => {
    assert.equal(entitySelector(side, namespace, false), want);
    parseSelector(want);
  });
}

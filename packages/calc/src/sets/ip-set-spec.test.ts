import assert from "node:assert/strict";
import { test } from "node:test";
import { parseSelector } from "@bulrush/selector";
import { namedPortSet, selectorSet, serviceSet } from "./ip-set-spec.ts";

test("selectorSet() makes the known ids", () => {
  for (const [text, id] of [
    ["all()", "s:5y5I3VdRZfDU01O--xXAPx2yxCQQqMf0M6IWug"],
    ["global()", "s:fiJDJdBoaP_zQxty70sMjIrxwAb5lgM6LYCAow"],
    ['b == "b"', "s:8Fb8HeM2GAxsfgNYVjbNrgSZ2H4cZJI8ODNBVg"],
    ["!(has(b) || !has(a))", "s:Iss0uCleLYv1GSv_pNm7hAO58kE9jAx1NKyG3Q"],
    ['(a == "b") && (!(has(foo3)))', "s:K3HM8E1cp6rIuu-KqW_xSlJkQigfFJduE5WlBw"],
  ] as const)
    assert.equal(selectorSet(parseSelector(text)).id, id, text);
});

test("namedPortSet() makes the known id", () => {
  assert.equal(namedPortSet(parseSelector("all()"), "tcp", "tcpport").id, "n:RMAIMXhhyW5sWWm_0o9euzK6TlyAbtjf6Ta9Jw");
});

test("serviceSet() makes the known ids", () => {
  assert.equal(serviceSet("default/svc", true).id, "svc:Jhwii46PCMT5NlhWsUqZmv7al8TeHFbNQMhoVg");
  assert.equal(serviceSet("default/svc", false).id, "svcnoport:T03S_6hogdrGKrNFBcbKTFsH_uKwDHEo8JddOg");
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { felixParametersOf } from "./parameters-of.ts";

test("felixParametersOf() gives names and texts as the keys of `default` have them", () => {
  const parameters = felixParametersOf({
    apiVersion: "projectcalico.org/v3",
    kind: "FelixConfiguration",
    metadata: { name: "gpu-nodes", annotations: { "config.projectcalico.org/LogPrefix": "gpu" } },
    spec: { nodeSelector: "has(gpu)", ipv6Support: false, vxlanPort: 4444, reportingInterval: "1m" },
  });
  assert.deepEqual(
    [...parameters].toSorted(([a], [b]) => (a < b ? -1 : 1)),
    [
      ["Ipv6Support", "false"],
      ["LogPrefix", "gpu"],
      ["ReportingIntervalSecs", "60"],
      ["VXLANPort", "4444"],
    ],
  );
});

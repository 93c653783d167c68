import assert from "node:assert/strict";
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ManualClock } from "@bulrush/base";
import { certificateFile } from "../testing/websocket-client.ts";
import { Certificates } from "./certificates.ts";

test("Certificates follows the files: missing, good, bad and good again", async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "typha-certificates-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const put = (name: string): void => {
    for (const extension of ["key", "crt"])
      copyFileSync(certificateFile(`${name}.${extension}`), join(directory, `tls.${extension}`));
  };
  const clock = new ManualClock(Date.now());
  const results: string[] = [];
  let reloads = 0;
  const certificates = new Certificates({
    settings: {
      keyFile: join(directory, "tls.key"),
      certFile: join(directory, "tls.crt"),
      caFile: certificateFile("ca.crt"),
      clientRule: { commonName: "typha-client" },
    },
    clock,
    onReloaded: () => reloads++,
    onResult: (result) => results.push(result),
  });
  const until = async (check: () => boolean): Promise<void> => {
    while (!check()) await clock.advance(1000);
  };
  assert.match(certificates.problem ?? "", /tls\.(key|crt)/);
  assert.equal(certificates.expiresAtMs, undefined);
  put("server");
  await until(() => certificates.problem === undefined);
  assert.ok((certificates.expiresAtMs ?? 0) > clock.nowMs());
  writeFileSync(join(directory, "tls.crt"), "no certificate");
  await until(() => certificates.problem !== undefined);
  assert.match(certificates.problem ?? "", /tls\.crt/);
  put("client-both");
  await until(() => certificates.problem === undefined && reloads === 1);
  assert.deepEqual(results, ["refused", "reloaded"]);
  certificates.close();
  assert.equal(clock.pending, 0);
});

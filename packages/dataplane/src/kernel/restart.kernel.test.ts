import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { after, before, it } from "node:test";
import { kernelTests } from "@bulrush/netlink/testing";
import type { ToDataplane } from "@bulrush/proto";
import { type KernelDataplane, startKernelDataplane, until } from "../testing/kernel-dataplane.ts";
import { KernelLab } from "../testing/kernel-lab.ts";
import { IN_SYNC } from "../testing/messages.ts";
import { transcriptInput } from "../testing/transcript.ts";

const FOLDER = new URL("../../testdata/render/", import.meta.url);

/** The worlds of the transcripts have every kind of rule, set, map and table that there is. */
kernelTests(import.meta.filename, () => {
  let lab: KernelLab;

  before(() => {
    lab = new KernelLab();
    // Interfaces that the transcripts speak of.
    for (const [i, name] of ["a", "b", "c"].entries()) lab.addPod(name, `10.64.0.${i + 2}`);
  });
  after(() => lab.close());

  const run = async (
    settings: Readonly<Record<string, string>>,
    messages: readonly ToDataplane[],
  ): Promise<KernelDataplane> => {
    const dataplane = startKernelDataplane(settings);
    await dataplane.send(...messages, IN_SYNC);
    await until("it is settled", () => dataplane.status()?.phase === "in-sync");
    return dataplane;
  };
  const counters = (dataplane: KernelDataplane): readonly number[] => {
    const { drift, nftTransactions, routeWrites } = dataplane.status()?.counters ?? assert.fail();
    return [nftTransactions, routeWrites, ...Object.values(drift)];
  };

  for (const file of readdirSync(FOLDER).filter((name) => name.endsWith(".txt")))
    it(`a restart writes nothing with the rules of ${file}`, async () => {
      const { messages, settings } = transcriptInput(readFileSync(new URL(file, FOLDER), "utf8"));
      const texts = Object.fromEntries(settings);
      const first = await run(texts, messages);
      const written = counters(first);
      const generation = first.kernel.nft.generation();
      await first.stop();
      const second = await run(texts, messages);
      assert.ok((written[0] ?? 0) > 0);
      assert.deepEqual(new Set(counters(second)), new Set([0]));
      assert.equal(second.kernel.nft.generation(), generation);
      await second.stop();
    });
});

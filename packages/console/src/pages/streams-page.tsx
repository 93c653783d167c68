import type { CachesView, CacheView } from "@bulrush/typha";
import type { JSX } from "preact";
import { bytesText, countText, durationText } from "../data/format.ts";
import { usePolled } from "../data/use-polled.ts";
import { Figures } from "../parts/figures.tsx";

/** The four streams: what they hold, how old it is, and how fast changes are in force. */
export function StreamsPage(): JSX.Element {
  const { value } = usePolled<CachesView>("/api/v1/caches");
  if (value === undefined) return <p class="dim">Reading the streams …</p>;
  return (
    <>
      {value.caches.map((cache) => (
        <Stream key={cache.syncer} cache={cache} />
      ))}
    </>
  );
}

function Stream({ cache }: { readonly cache: CacheView }): JSX.Element {
  const { propagation, retained, kinds } = cache;
  const ms = (value: number | null): string => (value === null ? "–" : durationText(value));
  return (
    <section>
      <h2>
        {cache.syncer}{" "}
        <span class={`tag ${cache.status === "in-sync" ? "good" : "warn"}`}>{cache.status}</span>
      </h2>
      <Figures
        of={[
          { name: "Keys", value: countText(cache.keys), note: `sequence ${countText(cache.sequence)}` },
          { name: "Datastore heard", value: `${durationText(cache.upstreamAgeMs)} ago` },
          {
            name: "In force within",
            value: ms(propagation.p50Ms),
            note:
              propagation.samples === 0
                ? "no client has said yet"
                : `p90 ${ms(propagation.p90Ms)}, p99 ${ms(propagation.p99Ms)}, most ${ms(propagation.maxMs)}`,
          },
          { name: "Flush window", value: durationText(cache.flushWindowMs) },
          {
            name: "Kept for those who return",
            value: bytesText(retained.bytes),
            note: `${countText(retained.breadcrumbs)} breadcrumbs from ${countText(retained.oldestSequence)}`,
          },
          {
            name: "Changes",
            value: countText(cache.updates),
            note: `${countText(cache.skipped)} changed nothing`,
          },
        ]}
      />
      <div class="scroll" tabIndex={0} role="region" aria-label={`Kinds of ${cache.syncer}`}>
        <table>
          <thead>
            <tr>
              <th>Kind</th>
              <th>State</th>
              <th class="number">Keys</th>
              <th class="number">Unusable</th>
              <th class="number">Heard</th>
            </tr>
          </thead>
          <tbody>
            {kinds.map(({ kind, status, reason, code, since, unusable, upstreamAgeMs, keys }) => (
              <tr key={kind}>
                <td>{kind}</td>
                <td>
                  {status}
                  {reason !== null && (
                    <div class="text-warn small">
                      {reason}
                      {code === null ? "" : ` (${code})`}
                      {since === null ? "" : `, since ${new Date(since).toLocaleString()}`}
                    </div>
                  )}
                </td>
                <td class="number">{countText(keys)}</td>
                <td class={`number ${unusable > 0 ? "text-warn" : ""}`}>{countText(unusable)}</td>
                <td class="number">{upstreamAgeMs === null ? "–" : `${durationText(upstreamAgeMs)} ago`}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

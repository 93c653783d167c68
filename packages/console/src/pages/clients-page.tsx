import type { ClientsView, ClientView } from "@bulrush/typha";
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { bytesText, countText, durationText } from "../data/format.ts";
import { behindOf, type ClientChoice, type ClientOrder, selectClients } from "../data/select-clients.ts";
import { usePolled } from "../data/use-polled.ts";
import { Figures } from "../parts/figures.tsx";

const COLUMNS: readonly (readonly [ClientOrder, string])[] = [
  ["node", "Node"],
  ["stream", "Stream"],
  ["version", "Version"],
  ["behind", "Behind"],
  ["lag", "Lag"],
  ["connected", "Connected"],
  ["bytes", "Sent"],
];
/** Rows that are shown at first, and more at a time: a browser is slow with thousands. */
const ROWS = 200;
/** A client that lags this long is worth a look. */
const SLOW_MS = 1000;

/** Every client with its place in its stream. */
export function ClientsPage(): JSX.Element {
  const { value } = usePolled<ClientsView>("/api/v1/clients");
  const [choice, setChoice] = useState<ClientChoice>({
    search: "",
    stream: undefined,
    order: "lag",
    isDescending: true,
  });
  const [rows, setRows] = useState(ROWS);
  const clients = value?.clients ?? [];
  const chosen = useMemo(() => selectClients(clients, choice), [clients, choice]);
  if (value === undefined) return <p class="dim">Reading the clients …</p>;
  const slow = clients.filter(({ lagMs }) => lagMs >= SLOW_MS).length;
  const streams = [...new Set(clients.map(({ syncer }) => syncer))].sort();
  return (
    <>
      <Figures
        of={[
          { name: "Streams", value: countText(clients.length) },
          { name: "Nodes", value: countText(new Set(clients.map(({ hostname }) => hostname)).size) },
          { name: "Lag over 1 s", value: countText(slow), tone: slow > 0 ? "warn" : "good" },
          { name: "Getting a snapshot", value: countText(clients.filter(({ inSnapshot }) => inSnapshot).length) },
          { name: "Sent in all", value: bytesText(clients.reduce((sum, { bytesSent }) => sum + bytesSent, 0)) },
        ]}
      />
      <div class="row bar">
        <label>
          Search{" "}
          <input
            type="search"
            value={choice.search}
            placeholder="node, address or version"
            onInput={({ currentTarget }) => setChoice({ ...choice, search: currentTarget.value })}
          />
        </label>
        <label>
          Stream{" "}
          <select
            onChange={({ currentTarget }) => setChoice({ ...choice, stream: currentTarget.value || undefined })}
          >
            <option value="">all</option>
            {streams.map((stream) => (
              <option key={stream}>{stream}</option>
            ))}
          </select>
        </label>
        <span class="dim" aria-live="polite">
          {countText(chosen.length)} of {countText(clients.length)}
        </span>
      </div>
      {clients.length === 0 ? <p>No client is connected.</p> : <ClientTable {...{ chosen, rows, choice, setChoice }} />}
      {chosen.length > rows && (
        <p>
          <button type="button" onClick={() => setRows(rows + ROWS)}>
            Show more of the other {countText(chosen.length - rows)}
          </button>
        </p>
      )}
    </>
  );
}

interface TableProps {
  readonly chosen: readonly ClientView[];
  readonly rows: number;
  readonly choice: ClientChoice;
  readonly setChoice: (choice: ClientChoice) => void;
}

function ClientTable({ chosen, rows, choice, setChoice }: TableProps): JSX.Element {
  const nowMs = Date.now();
  const sortBy = (order: ClientOrder): void =>
    setChoice({ ...choice, order, isDescending: choice.order === order ? !choice.isDescending : order === "lag" });
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Clients">
      <table>
        <thead>
          <tr>
            {COLUMNS.map(([order, title]) => (
              <th key={order} aria-sort={ariaSort(choice, order)} class={isNumber(order) ? "number" : undefined}>
                <button type="button" class="plain" onClick={() => sortBy(order)}>
                  {title}
                  {choice.order === order ? (choice.isDescending ? " ↓" : " ↑") : ""}
                </button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {chosen.slice(0, rows).map((client) => (
            <tr key={client.connectionId}>
              <td>
                {client.hostname} {client.duplicate && <span class="tag warn">twice</span>}
                <div class="dim small">{client.peer}</div>
              </td>
              <td>{client.syncer}</td>
              <td>{client.info}</td>
              <td class="number" title={`sequence ${client.appliedSequence ?? "not said"} of ${client.serverSequence}`}>
                {client.inSnapshot ? "in snapshot" : countText(behindOf(client))}
              </td>
              <td class={`number ${client.lagMs >= SLOW_MS ? "text-warn" : ""}`}>{durationText(client.lagMs)}</td>
              <td class="number" title={client.connectedAt}>
                {durationText(Math.max(0, nowMs - Date.parse(client.connectedAt)))}
              </td>
              <td class="number">{bytesText(client.bytesSent)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function isNumber(order: ClientOrder): boolean {
  return order === "behind" || order === "lag" || order === "connected" || order === "bytes";
}

function ariaSort(choice: ClientChoice, order: ClientOrder): "ascending" | "descending" | undefined {
  if (choice.order !== order) return undefined;
  return choice.isDescending ? "descending" : "ascending";
}

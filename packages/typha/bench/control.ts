import { connect, type Socket } from "node:net";
import { once } from "node:events";

/** One line of JSON per message between the bench's processes: nothing of it is in a measured path but its parsing. */
export function onLines(socket: Socket, onLine: (message: unknown) => void): void {
  let rest = "";
  socket.setEncoding("utf8");
  socket.on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) onLine(JSON.parse(line));
  });
}

/** What the driver asks of the server. All but `tick` and `floor` are answered. */
export type Command =
  /** Publish tick `t`. */
  | { readonly do: "tick"; readonly t: number }
  /** Write the shared buffer to every socket of the floor port. */
  | { readonly do: "floor" }
  /** Prepare ticks from `from`, `count` of them, and collect garbage. */
  | { readonly do: "prepare"; readonly from: number; readonly count: number }
  /** Publish tick `t` of every 25th key, so that nothing that was encoded for a snapshot is of use any more. */
  | { readonly do: "touch"; readonly t: number }
  /** Nothing but the answer. */
  | { readonly do: "cpu" }
  /** Watch how long the turns of the event loop are, until the next answer. It costs CPU. */
  | { readonly do: "watch" }
  /** Publish `count` prepared ticks from `from` on, `perSecond` of them; answered after the last. */
  | { readonly do: "pace"; readonly from: number; readonly count: number; readonly perSecond: number };

export interface Answer {
  /** CPU microseconds since the last answer. */
  readonly cpuUs: number;
  /** Of the newest frame. */
  readonly frameBytes: number;
  /** Of the process, as it is. */
  readonly residentBytes: number;
  /** After `watch`: the longest turn of the event loop, and the most CPU of one, in ms. */
  readonly longestTurnMs: number;
  readonly longestTurnCpuMs: number;
  /** Of `pace`: when each tick was published, milliseconds of the monotonic clock that all processes share. */
  readonly publishedAtMs: readonly number[];
}

/** The driver's end. */
export interface Control {
  tell(command: Command): void;
  ask(command: Command): Promise<Answer>;
}

export async function dialControl(path: string): Promise<Control> {
  const socket = connect(path);
  await once(socket, "connect");
  const answers: ((answer: Answer) => void)[] = [];
  onLines(socket, (message) => answers.shift()?.(message as Answer));
  const tell = (command: Command): void => void socket.write(`${JSON.stringify(command)}\n`);
  const ask = (command: Command): Promise<Answer> =>
    new Promise((resolve) => {
      answers.push(resolve);
      tell(command);
    });
  return { tell, ask };
}

/** Milliseconds of the monotonic clock that all processes of a machine share. */
export function sharedClockMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** A pause in which kernels send the acknowledgements that they put off after somebody has sent something. */
export function settle(ms = 150): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

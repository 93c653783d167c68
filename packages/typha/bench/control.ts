import type { Socket } from "node:net";

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

/** What the driver asks of the server. */
export type Command =
  /** Publish tick `t`. */
  | { readonly do: "tick"; readonly t: number }
  /** Write the shared buffer to every socket of the floor port. */
  | { readonly do: "floor" }
  /** Prepare ticks from `from`, `count` of them, and collect garbage. Answered. */
  | { readonly do: "prepare"; readonly from: number; readonly count: number }
  /** Answered with the CPU microseconds since the last answer, and the bytes of the last frame. */
  | { readonly do: "cpu" };

export interface Answer {
  readonly cpuUs: number;
  readonly frameBytes: number;
}

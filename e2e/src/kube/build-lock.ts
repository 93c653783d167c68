import { once } from "node:events";
import { createServer } from "node:net";

/**
 * A lock among all processes of the machine: a listening socket without a file (unix(7), "abstract"), which the kernel
 * takes back when its process ends, however it ends.
 *
 * @returns a function that gives the lock back; undefined when another process has it.
 */
export async function tryLock(name: string): Promise<(() => void) | undefined> {
  const server = createServer((socket) => socket.destroy());
  server.listen(`\0bulrush-${name}`);
  try {
    await once(server, "listening");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EADDRINUSE") return undefined;
    throw error;
  }
  server.unref();
  return () => {
    server.close();
  };
}

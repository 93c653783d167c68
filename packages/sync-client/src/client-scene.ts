import type { TestContext } from "node:test";
import type { SyncClientOptions } from "./options.ts";
import { type Fixture, startClient } from "./testing/fixture.ts";
import { ScriptedServer } from "./testing/scripted-server.ts";

interface Scene extends Fixture {
  readonly server: ScriptedServer;
}

/** One server and a client that dials it; both end with the test. */
export async function scene(t: TestContext, more: Partial<SyncClientOptions> = {}): Promise<Scene> {
  const server = await ScriptedServer.start();
  const fixture = startClient([server.address], more);
  t.after(async () => {
    await fixture.client.stop();
    await server.close();
  });
  return { ...fixture, server };
}

import { after, before } from "node:test";
import { labTests } from "../lab/lab-test.ts";
import { clientTests } from "./client-tests.ts";
import { directoryTests, manifestTests } from "./manifest-tests.ts";
import { nameTests } from "./name-tests.ts";
import { serverTests } from "./server-tests.ts";
import { World } from "./world.ts";

labTests(import.meta.filename, () => {
  let world: World;
  before(async () => {
    world = await World.start();
  });
  after(() => world.stop());
  manifestTests(() => world);
  directoryTests(() => world);
  clientTests(() => world);
  nameTests(() => world);
  serverTests(() => world);
});

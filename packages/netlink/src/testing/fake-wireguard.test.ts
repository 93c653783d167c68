import { FakeWireguard } from "./fake-wireguard.ts";
import { wireguardCompliance } from "./wireguard-compliance.ts";

wireguardCompliance(() => new FakeWireguard((name) => (name === "wg0" ? { index: 7 } : undefined)));

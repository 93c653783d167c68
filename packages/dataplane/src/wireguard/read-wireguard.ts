import { openWireguard, type WireguardDevice } from "@bulrush/netlink";

/** What the kernel says of these devices, without their private keys; those that are not there are left out. Throws. */
export function readWireguardDevices(names: readonly string[]): readonly Omit<WireguardDevice, "privateKey">[] {
  const wireguard = openWireguard();
  if (wireguard === undefined) return [];
  try {
    return names.flatMap((name) => {
      const device = wireguard.device(name);
      if (device === undefined) return [];
      const { privateKey: _secret, ...open } = device;
      return [open];
    });
  } finally {
    wireguard.close();
  }
}

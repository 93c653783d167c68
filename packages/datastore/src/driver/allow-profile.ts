import { DEFAULT_ALLOW_PROFILE } from "../kubernetes/profile.ts";
import type { Item } from "./driver.ts";

/** The profile that every datastore has. Not of the server, so that its revision never changes. */
export const ALLOW_PROFILE: Item = {
  kind: "Profile",
  namespace: "",
  name: DEFAULT_ALLOW_PROFILE.metadata.name,
  revision: "1",
  value: DEFAULT_ALLOW_PROFILE,
};

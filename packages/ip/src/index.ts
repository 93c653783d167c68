export {
  type Address,
  addressBytes,
  addressFromBytes,
  compareAddresses,
  type Family,
  formatAddress,
  parseAddress,
  parseIPv4,
} from "./address.ts";
export {
  canonicalCidr,
  type Cidr,
  cidrOf,
  compareCidrs,
  containsAddress,
  containsCidr,
  formatCidr,
  isHostCidr,
  isMasked,
  lastAddress,
  maskCidr,
  maxPrefixLength,
  parseCidr,
} from "./cidr.ts";
export { CidrTrie } from "./cidr-trie.ts";

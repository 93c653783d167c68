import { NFT_ERROR_CODES, NftError } from "./errors.ts";

/** The error for input that cannot be encoded. */
export function invalid(what: string, value: unknown): NftError {
  return new NftError(`Invalid ${what} '${String(value)}'`, {
    code: NFT_ERROR_CODES.invalid,
    op: "Encode nftables object",
    data: { what, value },
  });
}

import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { ProtoError } from "./errors.ts";
import type { DecodeLimits } from "./limits.ts";

/** First byte of a frame: how the rest is encoded. Every other value is free for later codecs. */
export const CODEC_PLAIN = 0;
export const CODEC_ZSTD = 1;

/** Largest window that a decoder sets aside for a frame: 2^24 bytes, the largest body. */
const MAX_WINDOW_LOG = 24;

/** Zstandard frame header (RFC 8878 section 3.1.1): magic number, then a descriptor with the checksum flag in bit 2. */
const ZSTD_MAGIC = 0xfd2fb528;
const DESCRIPTOR_OFFSET = 4;
const CHECKSUM_FLAG = 0x04;

const COMPRESS_OPTIONS = {
  params: { [constants.ZSTD_c_compressionLevel]: 1, [constants.ZSTD_c_checksumFlag]: 1 },
};

/** Bounds of what is set aside for compressed output at a time; most bodies shrink to less than a third. */
const MIN_CHUNK_BYTES = 1024;
const MAX_CHUNK_BYTES = 64 * 1024;

/** By default 64 KiB are set aside for each call: for a frame of 2 KiB that is what it costs. */
export function compressBody(body: Uint8Array): Buffer {
  const chunkSize = Math.min(MAX_CHUNK_BYTES, Math.max(MIN_CHUNK_BYTES, body.length >> 1));
  return zstdCompressSync(body, { ...COMPRESS_OPTIONS, chunkSize });
}

/** The body of a frame, decompressed where it has to be. A plain body is a view of `frame`. */
export function bodyOf(frame: Uint8Array, limits: DecodeLimits): Uint8Array {
  if (frame.length > limits.maxFrameBytes) throw tooBig("The frame", frame.length, limits.maxFrameBytes);
  if (frame.length === 0) throw new ProtoError("PROTO_TRUNCATED", "The frame is empty");
  const body = frame.subarray(1);
  switch (frame[0]) {
    case CODEC_PLAIN:
      if (body.length > limits.maxBodyBytes) throw tooBig("The body", body.length, limits.maxBodyBytes);
      return body;
    case CODEC_ZSTD:
      return decompressBody(body, limits.maxBodyBytes);
    default:
      throw new ProtoError("PROTO_UNKNOWN_CODEC", `Codec ${String(frame[0])} is not known`);
  }
}

function decompressBody(body: Uint8Array, maxBodyBytes: number): Buffer {
  if (body.length <= DESCRIPTOR_OFFSET) throw new ProtoError("PROTO_TRUNCATED", "The compressed body has no header");
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  if (view.getUint32(0, true) !== ZSTD_MAGIC)
    throw new ProtoError("PROTO_BAD_COMPRESSION", "The compressed body is not a zstd frame");
  if ((view.getUint8(DESCRIPTOR_OFFSET) & CHECKSUM_FLAG) === 0)
    throw new ProtoError("PROTO_BAD_COMPRESSION", "The compressed body has no checksum");
  try {
    return zstdDecompressSync(body, {
      maxOutputLength: maxBodyBytes,
      params: { [constants.ZSTD_d_windowLogMax]: MAX_WINDOW_LOG },
    });
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ERR_BUFFER_TOO_LARGE")
      throw new ProtoError("PROTO_TOO_BIG", `The body decompresses to more than ${maxBodyBytes} bytes`, {
        cause,
        data: { limit: maxBodyBytes },
      });
    throw new ProtoError("PROTO_BAD_COMPRESSION", "The compressed body cannot be decoded", { cause });
  }
}

function tooBig(what: string, bytes: number, limit: number): ProtoError {
  return new ProtoError("PROTO_TOO_BIG", `${what} has ${bytes} bytes, over the bound of ${limit}`, {
    data: { bytes, limit },
  });
}

/** Bytes of a hexadecimal text; blanks and line ends between them mean nothing. */
export function unhex(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text.replaceAll(/\s/g, ""), "hex"));
}

/** The bytes as lines of four, the unit in which netlink is laid out. */
export function hexLines(bytes: Uint8Array): string {
  const words: string[] = [];
  for (let i = 0; i < bytes.length; i += 4) words.push(Buffer.from(bytes.subarray(i, i + 4)).toString("hex"));
  return words.join("\n");
}

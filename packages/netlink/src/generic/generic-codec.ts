import type { AttributeReader } from "../message/attribute-reader.ts";
import type { MessageReader } from "../message/message-reader.ts";
import type { MessageWriter } from "../message/message-writer.ts";

/** linux/genetlink.h: the one family whose number is fixed, and which knows those of the others. */
export const GENL_ID_CTRL = 16;
const CTRL_CMD_GETFAMILY = 3;
const CTRL_ATTR = { FAMILY_ID: 1, FAMILY_NAME: 2 } as const;
/** `struct genlmsghdr` */
export const GENL_BODY_BYTES = 4;

export function writeGenericBody(writer: MessageWriter, command: number, version: number): void {
  writer.u8(command);
  writer.u8(version);
  writer.u16(0);
}

/** Asks which number a family has. */
export function writeFamilyRequest(writer: MessageWriter, name: string): void {
  writeGenericBody(writer, CTRL_CMD_GETFAMILY, 1);
  writer.attrString(CTRL_ATTR.FAMILY_NAME, name);
}

export function decodeFamilyId(message: MessageReader): number | undefined {
  const attributes: AttributeReader = message.attributes(GENL_BODY_BYTES);
  while (attributes.next()) if (attributes.type === CTRL_ATTR.FAMILY_ID) return attributes.u16();
  return undefined;
}

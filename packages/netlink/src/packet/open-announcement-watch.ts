import type { NamespaceRef } from "../namespace.ts";
import { closeFd, receiveNow } from "../system/socket-fd.ts";
import { isAnnouncement } from "./announcement.ts";
import { ETHERTYPE } from "./ethernet.ts";
import { openPacketSocket } from "./packet-socket.ts";

/** As much of a frame as is looked at. */
const FRAME_BYTES = 64;
/** Frames that one look takes at most; the rest is for the next one. */
const FRAMES_A_LOOK = 256;

/** Listens at one device for machines that say that they are here. The caller closes it. */
export interface AnnouncementWatch {
  /** True when one has come since the last call (packet(7)). Never waits. */
  heard(): boolean;
  close(): void;
}

/** `device`: index of the interface that frames come in by; those that go out do not count. Throws NETLINK_SYSCALL. */
export function openAnnouncementWatch(
  device: number,
  options: { readonly namespace?: NamespaceRef } = {},
): AnnouncementWatch {
  const fds: number[] = [];
  const close = (): void => {
    for (const fd of fds.splice(0)) closeFd(fd);
  };
  try {
    for (const type of [ETHERTYPE.arp, ETHERTYPE.rarp])
      fds.push(openPacketSocket({ device, ethertype: type, ...options }));
  } catch (error) {
    close();
    throw error;
  }
  const frame = new Uint8Array(FRAME_BYTES);
  return {
    heard() {
      let heard = false;
      for (const fd of fds)
        for (let i = 0; i < FRAMES_A_LOOK; i++) {
          const length = receiveNow(fd, frame);
          // Nothing more (EAGAIN), or the device went down (ENETDOWN): its end is told elsewhere.
          if (length < 0) break;
          heard ||= isAnnouncement(frame.subarray(0, length));
        }
      return heard;
    },
    close,
  };
}

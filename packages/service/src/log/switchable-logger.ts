import type { Logger } from "./logger.ts";

/** A logger whose lines go elsewhere from one moment on: from the early log to the one that the settings ask for. */
export interface SwitchableLogger extends Logger {
  /** Later lines, also those of children made before, go to `next`. */
  switchTo(next: Logger): void;
}

/** Lines go to `first` until it is switched. Neither logger is closed by it. */
export function switchableLogger(first: Logger): SwitchableLogger {
  let current = first;
  return {
    ...forward(() => current),
    switchTo(next) {
      current = next;
    },
  };
}

function forward(target: () => Logger): Logger {
  return {
    debug: (message, fields) => target().debug(message, fields),
    info: (message, fields) => target().info(message, fields),
    warn: (message, fields) => target().warn(message, fields),
    error: (message, fields) => target().error(message, fields),
    fatal: (message, fields) => target().fatal(message, fields),
    child(fields) {
      let parent = target();
      let child = parent.child(fields);
      return forward(() => {
        if (target() === parent) return child;
        parent = target();
        child = parent.child(fields);
        return child;
      });
    },
    isEnabled: (level) => target().isEnabled(level),
  };
}

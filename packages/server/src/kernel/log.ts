import { type Logger, pino } from "pino"

export type { Logger }

/** Credentials never reach a log line, wherever in an object they stand. */
const redact = [
  "authorization",
  "cookie",
  "password",
  "secret",
  "token",
  "*.authorization",
  "*.cookie",
  "*.password",
  "*.secret",
  "*.token",
]

export const createLog = (level: string): Logger =>
  pino(
    { level, base: null, redact, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination({ fd: 2, sync: false }),
  )

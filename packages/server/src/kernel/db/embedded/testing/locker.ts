/** A process of its own for the tests: takes the lock of each directory sent to it, and answers whether it got it. */
import { StartupError } from "../../../startup-error.ts"
import { acquireDataDirLock } from "../lock.ts"

const attempt = (dataDir: string): { won: boolean; message: string } => {
  try {
    acquireDataDirLock(dataDir)
    return { won: true, message: "" }
  } catch (error) {
    if (!(error instanceof StartupError)) throw error
    return { won: false, message: error.message }
  }
}

process.on("message", dataDir => process.send?.(attempt(String(dataDir))))
process.send?.("ready")

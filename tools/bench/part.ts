/** One part of the bench as a process of its own: `node tools/bench/part.ts NAME DATA_FOLDER PID`. Tells its parent what it finds. */
import { type Figures, printFigures } from "./figures.ts"
import { parts } from "./parts.ts"
import { stopAll } from "./platform.ts"

const end = () => void stopAll().finally(() => process.exit(1))
process.once("SIGTERM", end)
process.once("SIGINT", end)
// Nobody waits for what is found when the bench itself is gone.
process.once("disconnect", end)

const [name = "", dataDir = "", pid] = process.argv.slice(2)
const tell = (figures: Figures) => {
  printFigures(figures)
  process.send?.(figures)
}
try {
  await parts[name]?.(tell, dataDir, Number(pid))
} catch (error) {
  process.stderr.write(`${(error as Error).stack}\n`)
  tell({ [`${name}: not finished`]: (error as Error).message })
  process.exitCode = 1
}
process.off("disconnect", end)
if (process.connected) process.disconnect()

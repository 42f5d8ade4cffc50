/** A process that runs the queue `test.work`, for tests that kill it: `node process.ts <database url> <concurrency>`. */
import pg from "pg"
import { systemClock } from "../../clock.ts"
import { openWorker } from "./world.ts"

const [url = "", concurrency = "10"] = process.argv.slice(2)
const notes = new pg.Pool({ connectionString: url, max: 4 })
notes.on("error", () => undefined)
const worker = await openWorker(url, systemClock)
worker.jobs.define<number>({
  name: "test.work",
  concurrency: Number(concurrency),
  leaseSeconds: 5,
  async run({ payload }) {
    await notes.query("INSERT INTO public.runs (payload, pid) VALUES ($1, $2)", [payload, process.pid])
  },
})
worker.jobs.schedule({
  name: "test.tick",
  every: 1_000,
  async run({ scheduledFor }) {
    await notes.query("INSERT INTO public.ticks (scheduled_for, pid) VALUES ($1, $2)", [
      scheduledFor,
      process.pid,
    ])
  },
})
await worker.running.start()
process.stdout.write("started\n")
process.once("SIGTERM", async () => {
  await worker.running.drain(5_000)
  await worker.close()
  await notes.end()
})

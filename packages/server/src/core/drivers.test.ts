/** Drivers are opened once, when somebody needs them, and closed with the platform. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { createDrivers, type Openers } from "./drivers.ts"

interface Some {
  readonly disk: { readonly name: string }
  readonly host: { readonly on: string }
}

const world = (options: { failures?: number } = {}) => {
  const told: string[] = []
  let failures = options.failures ?? 0
  const openers: Openers<Some> = {
    disk: {
      atStart: false,
      open(opened) {
        if (failures-- > 0) throw new Error("the disk is away")
        told.push("disk opens")
        opened.defer(() => void told.push("disk closes"))
        return { name: "disk" }
      },
    },
    host: {
      atStart: true,
      async open(opened, open) {
        const { name } = await open("disk")
        told.push("host opens")
        opened.defer(() => void told.push("host closes"))
        return { on: name }
      },
    },
  }
  return { told, drivers: createDrivers(openers) }
}

test("a driver that nobody needs is never opened", async () => {
  const { told, drivers } = world()
  await drivers[Symbol.asyncDispose]()
  assert.deepEqual(told, [])
})

test("those who need a driver at once share it, and it is closed before what it stands on", async () => {
  const { told, drivers } = world()
  const [one, two] = await Promise.all([drivers.open("host"), drivers.open("host")])
  assert.equal(one, two)
  await drivers[Symbol.asyncDispose]()
  assert.deepEqual(told, ["disk opens", "host opens", "host closes", "disk closes"])
})

test("a start opens the drivers that must be asked at once, with what they stand on", async () => {
  const { told, drivers } = world()
  await drivers.start()
  assert.deepEqual(told, ["disk opens", "host opens"])
  await drivers[Symbol.asyncDispose]()
})

test("one that could not be opened is tried again by whoever needs it next", async () => {
  const { drivers } = world({ failures: 1 })
  await assert.rejects(drivers.open("host"), /away/)
  assert.equal((await drivers.open("host")).on, "disk")
  await drivers[Symbol.asyncDispose]()
})

test("nothing is opened once the platform stops", async () => {
  const { drivers } = world()
  await drivers[Symbol.asyncDispose]()
  await assert.rejects(drivers.open("disk"), { code: "service_unavailable" })
})

/** What modules ask for: opened once, when somebody needs it, handed over exactly, and closed with the platform. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { defineService } from "../kernel/service.ts"
import { offerToken, openedToken, supply, token } from "../kernel/token.ts"
import { createServices } from "./services.ts"

const disk = openedToken<{ readonly name: string }>("disk")
const host = openedToken<{ readonly on: string }>("host")
const place = token<string>("place")
const guests = offerToken<{ readonly count: number }>("guests")

const world = (options: { failures?: number } = {}) => {
  const told: string[] = []
  let failures = options.failures ?? 0
  const modules = [
    defineService({
      provides: disk,
      needs: { place },
      open(given, { opened, onDrain }) {
        if (failures-- > 0) throw new Error("the disk is away")
        told.push(`disk opens with ${Object.keys(given)}`)
        onDrain(async () => void told.push("disk drains"))
        opened.defer(() => void told.push("disk closes"))
        return { name: "disk" }
      },
    }),
    defineService({
      provides: host,
      needs: { disk },
      atStart: () => true,
      open({ disk: { name } }, { opened }) {
        told.push("host opens")
        opened.defer(() => void told.push("host closes"))
        return { on: name }
      },
    }),
  ]
  const services = createServices({ modules, settingsOf: () => ({}) })
  services.supply([supply(place, "here")])
  return { told, services }
}

const OPENED = ["disk opens with place,settings", "host opens"]

test("a driver that nobody needs is never opened", async () => {
  const { told, services } = world()
  await services[Symbol.asyncDispose]()
  assert.deepEqual(told, [])
})

test("those who need a driver at once share it, and it is closed before what it stands on", async () => {
  const { told, services } = world()
  const [one, two] = await Promise.all([services.open(host), services.open(host)])
  assert.equal(one, two)
  await services[Symbol.asyncDispose]()
  assert.deepEqual(told, [...OPENED, "host closes", "disk closes"])
})

test("a start opens the drivers that must be asked at once, with what they stand on", async () => {
  const { told, services } = world()
  await services.start()
  assert.deepEqual(told, OPENED)
  await services[Symbol.asyncDispose]()
})

test("one that could not be opened is tried again by whoever needs it next", async () => {
  const { services } = world({ failures: 1 })
  await assert.rejects(services.open(host), /away/)
  assert.equal((await services.open(host)).on, "disk")
  await services[Symbol.asyncDispose]()
})

test("nothing is opened once the platform stops", async () => {
  const { services } = world()
  await services[Symbol.asyncDispose]()
  await assert.rejects(services.open(disk), { code: "service_unavailable" })
})

test("a module is given what it asks for under its own names, and nothing else", async () => {
  const { told, services } = world()
  const needs = { where: place, guests, host }
  assert.deepEqual(Object.keys(services.atHand(needs)), ["where", "guests"])
  assert.deepEqual(told, [])

  const given = await services.gather(needs)
  assert.deepEqual(Object.keys(given), ["where", "guests", "host"])
  assert.deepEqual([given.where, given.host.on], ["here", "disk"])
  assert.throws(() => services.atHand({ other: token("other") }), /nothing supplies other/)
})

test("what is offered is found when it is asked for, whoever came first", async () => {
  const { services } = world()
  const { guests: asked } = services.atHand({ guests })
  assert.equal(asked.isProvided(), false)
  services.offer(guests).provideAfter(async () => services.offer(guests).provide({ count: 3 }))
  assert.equal(asked.isProvided(), true)
  assert.equal((await asked.get())?.count, 3)
})

test("what is open ends its work as the platform stops, and what is not stays closed", async () => {
  const { told, services } = world()
  await services.drain(1_000)
  await services.open(disk)
  await services.drain(1_000)
  assert.deepEqual(told, [OPENED[0], "disk drains"])
})

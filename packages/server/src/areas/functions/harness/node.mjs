/** Runs a JavaScript function inside its workload. What it prints to 1 and 2 cannot be taken for a frame. */
import { AsyncLocalStorage } from "node:async_hooks"
import { existsSync } from "node:fs"
import { pathToFileURL } from "node:url"
import { inspect } from "node:util"
import {
  background,
  begin,
  CODE,
  exit,
  finish,
  flush,
  listen,
  load,
  now,
  print,
  Refusal,
  running,
  take,
  toError,
} from "./channel.mjs"
import { eventOf, more, plainRequest, replyFrom, replyOf, requestOf, resultFrom } from "./http.mjs"

const ENDINGS = [".js", ".mjs", ".cjs", ".ts"]

let run
const current = new AsyncLocalStorage()
/** Who asked, by invocation. The request is kept too: its signal aborts only while somebody holds it. */
const callers = new Map()

const capture = (stream, name) => {
  stream.write = (chunk, encoding, done) => {
    const text = typeof chunk === "string" ? chunk : Buffer.from(chunk).toString()
    print(current.getStore() ?? background, name, text)
    const call = typeof encoding === "function" ? encoding : done
    if (typeof call === "function") queueMicrotask(call)
    return true
  }
}

const moduleFor = file => {
  const path = ENDINGS.map(ending => `${CODE}/${file}${ending}`).find(existsSync)
  if (path === undefined) throw new Refusal("InitError", `there is no ${file}.js, .mjs, .cjs or .ts`)
  return import(pathToFileURL(path).href)
}

/** The named export, or a default export that is a function or has `fetch`. */
const findHandler = async handler => {
  const dot = handler.lastIndexOf(".")
  const name = handler.slice(dot + 1)
  const module = await moduleFor(handler.slice(0, dot))
  const main = module.default
  const named = module[name] ?? main?.[name]
  if (typeof named === "function") return { call: named }
  for (const candidate of [main, main?.default]) {
    if (typeof candidate?.fetch === "function") return { fetch: candidate.fetch.bind(candidate) }
    if (typeof candidate === "function") return { call: candidate }
  }
  throw new Refusal("InitError", `the module exports no function ${name}, and no default one`)
}

const contextOf = ({ i, deadline, context }) => ({
  ...context,
  invocation_id: i,
  awsRequestId: i,
  functionName: context.function_name,
  getRemainingTimeInMillis: () => Math.max(0, deadline - now()),
})

const fetchContext = frame => ({
  ...contextOf(frame),
  // The process goes on after the reply, so there is nothing to wait for but errors.
  waitUntil: promise =>
    void Promise.resolve(promise).catch(error => process.stderr.write(`${inspect(error)}\n`)),
  passThroughOnException() {},
})

const performFetch = async frame => {
  const caller = new AbortController()
  const request = requestOf(frame.request, caller.signal)
  callers.set(frame.i, { caller, request })
  try {
    const response = await run.fetch(request, process.env, fetchContext(frame))
    return await replyOf(frame.i, response, caller.signal)
  } finally {
    callers.delete(frame.i)
  }
}

const perform = async frame => {
  const { call, fetch } = run
  if (frame.t === "request") {
    if (fetch) return performFetch(frame)
    return { reply: replyFrom(await call(eventOf(frame.request), contextOf(frame))) }
  }
  if (!fetch) return { result: (await call(frame.event, contextOf(frame))) ?? null }
  return {
    result: await resultFrom(await fetch(plainRequest(frame.event), process.env, fetchContext(frame))),
  }
}

const invoke = frame =>
  current.run(take(frame.i), async () => {
    try {
      finish(frame.i, await perform(frame))
    } catch (error) {
      finish(frame.i, { error: toError(error) })
    }
  })

/** What nobody catches leaves the process in an unknown state: all that runs in it fails, and it ends. */
const collapse = thrown => {
  const error = toError(thrown)
  for (const id of [...running.keys()]) finish(id, { error, final: true })
  flush(background)
  exit(1)
}

const start = frame => {
  begin(frame)
  Object.assign(process.env, frame.env)
  capture(process.stdout, "stdout")
  capture(process.stderr, "stderr")
  process.on("uncaughtException", collapse)
  process.on("unhandledRejection", collapse)
  process.chdir(CODE)
  return load(async () => {
    run = await findHandler(frame.handler)
  })
}

const actions = { start, invoke, request: invoke, more, cancel: ({ i }) => callers.get(i)?.caller.abort() }

listen(frame => actions[frame.t]?.(frame))

import { readConfig } from "./config.ts"
import type { FirstRun } from "./core/first-run.ts"
import { StartupError } from "./kernel/startup-error.ts"
import { type Platform, startPlatform } from "./platform.ts"

const say = (text: string) => void process.stdout.write(`${text}\n`)

const urls = ({ config }: Platform): string => `
  Svc is ready at ${config.baseUrl}

  Console         ${config.baseUrl}/console
  API reference   ${config.baseUrl}/docs
  Health          ${config.baseUrl}/health/ready`

/** One line that works when pasted. */
const curl = ({ config }: Platform, { api_key }: FirstRun): string =>
  `curl ${config.baseUrl}/v1/kv/set -H 'Authorization: Bearer ${api_key}' -H 'Content-Type: application/json' -d '{"key":"hello","value":"world"}'`

/** A service's log is read by more people than its terminal. */
const logged = (platform: Platform): string => `${urls(platform)}

  Address, password and API key of the first person are kept in ${platform.config.dataDir}/first-run.json
`

const welcome = (platform: Platform, first: FirstRun): string => `${urls(platform)}

  Sign in         ${first.sign_in_url}
                  (works once, for 15 minutes; or with ${first.email}  ${first.password})
  API key         ${first.api_key}
  Kept in         ${platform.config.dataDir}/first-run.json

  Try it:

  ${curl(platform, first)}
`

const fail = (error: unknown) => {
  const text =
    error instanceof StartupError
      ? `${error.message}\n${error.hint}`
      : String((error as Error)?.stack ?? error)
  process.stderr.write(`\n${text}\n`)
  process.exitCode = 1
}

const PARENT_LOOK_MS = 1_000

/**
 * npm passes SIGTERM and SIGINT on; when it is killed, or its terminal is closed, it ends without a word to the program that
 * it started. Then this process has another parent. One system call a second.
 */
const watchParent = (ended: () => void): void => {
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    ended()
  }, PARENT_LOOK_MS)
  timer.unref()
}

/** Runs the platform until SIGTERM, SIGINT or SIGHUP, or the end of the npm that started it; a second signal ends it without waiting. */
export const run = async (env: Readonly<Record<string, string | undefined>>): Promise<void> => {
  let platform: Platform | undefined
  let stopping = false
  const starting = Promise.resolve().then(() => startPlatform(readConfig(env)))

  const stop = async () => {
    if (stopping) process.exit(1)
    stopping = true
    try {
      await (await starting.catch(() => undefined))?.[Symbol.asyncDispose]()
    } catch (error) {
      fail(error)
    }
    process.exit()
  }
  process.on("SIGTERM", stop)
  process.on("SIGINT", stop)
  process.on("SIGHUP", stop)
  if (env.npm_lifecycle_event !== undefined) {
    watchParent(() => {
      if (!stopping) void stop()
    })
  }

  try {
    platform = await starting
    const { firstRun } = platform
    const first = firstRun && (process.stdout.isTTY ? welcome(platform, firstRun) : logged(platform))
    say(first ?? `${urls(platform)}\n`)
  } catch (error) {
    fail(error)
    process.exit()
  }
}

/** The program of an image, as it is started. */
import { dirname } from "node:path"
import { HOST, type Image } from "../images/images.ts"
import { type Launch, StartError } from "./spec.ts"

const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
const NODE = "/opt/svc/node"
/** The user's home of the machine's own programs. */
const HOST_ENV = { HOME: "/home/user", LANG: "C.UTF-8", TMPDIR: "/tmp", PATH: `${NODE}:${PATH}` }

const isRootUser = (user: string | null): boolean => user === null || /^(?:root|0)(?::.*)?$/.test(user)

export interface ImageProgram {
  /** The name of the image. */
  readonly image: string
  /** In place of its entrypoint. */
  readonly command: readonly string[] | null
  /** In place of its arguments. */
  readonly args: readonly string[] | null
  readonly env: Readonly<Record<string, string>>
}

/** Throws a StartError where nobody says which program. */
export const imageLaunch = (
  { root, config }: Image,
  { image, command, args, env }: ImageProgram,
  { mounts }: { readonly mounts: boolean },
): Omit<Launch, "files"> => {
  const isHost = image === HOST
  const [program, ...rest] = [...(command ?? config.entrypoint), ...(args ?? (command ? [] : config.cmd))]
  if (program === undefined)
    throw new StartError("the image names no program, and the service has no command", true)
  return {
    root,
    mounts: isHost && mounts ? [{ source: dirname(process.execPath), target: NODE }] : [],
    argv: [program, ...rest],
    cwd: config.workingDir ?? (isHost ? "/tmp" : "/"),
    env: { ...(isHost ? HOST_ENV : { PATH }), ...config.env, ...env },
    user: !isHost && isRootUser(config.user) ? "root" : "user",
  }
}

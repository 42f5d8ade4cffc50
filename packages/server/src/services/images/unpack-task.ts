/** What the thread that unpacks is asked, and answers. */
import type { UnpackLimits } from "./unpack.ts"

export type UnpackTask =
  /** Layers, lowest first, into `root`. Gives their bytes, and whether `workingDir` is for everybody. */
  | {
      readonly kind: "layers"
      readonly files: readonly string[]
      readonly root: string
      readonly workingDir: string | null
      readonly limits: UnpackLimits
    }
  /** The parts of an archive of an image into `directory`. Gives their names. */
  | {
      readonly kind: "archive"
      readonly file: string
      readonly directory: string
      readonly limits: UnpackLimits
    }

export interface UnpackReply {
  readonly bytes: number
  readonly isOpenToAll: boolean
  readonly names: readonly string[]
  readonly failure?: { readonly message: string; readonly isOfImage: boolean }
}

/** Where a part of an archive lies once it is taken apart: all are in one directory. */
export const fileOf = (name: string): string => name.replaceAll("/", "-")

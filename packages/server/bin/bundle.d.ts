/** `root` is the folder of the whole repository. */
export const bundleFolder: (root: string) => string
export const stampFile: (root: string) => string
export const isFresh: (root: string) => boolean
export const consoleFolder: (root: string) => string
export const stampOfConsole: (root: string) => string
export const isConsoleFresh: (root: string) => boolean
export const runProgram: (name: "main" | "doctor", how?: { makesBundle: boolean }) => Promise<void>

/** Runs one thing after the other. */
export const createGate = () => {
  let last: Promise<unknown> = Promise.resolve()
  return <Result>(work: () => Promise<Result>): Promise<Result> => {
    const run = last.then(work)
    last = run.catch(() => undefined)
    return run
  }
}

export type Gate = ReturnType<typeof createGate>

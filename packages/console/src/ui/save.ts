/** Gives the browser a file to save. */
export const saveBlob = (name: string, blob: Blob): void => {
  const url = URL.createObjectURL(blob)
  const link = document.createElement("a")
  link.href = url
  link.download = name
  link.click()
  // The browser has begun to read it by then.
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}

export const saveText = (name: string, type: string, text: string): void =>
  saveBlob(name, new Blob([text], { type }))

// Sending a file to where the API says: past it, straight to the store of files.

/** A form's POST with its fields and the file, as the store of files asks for it; `told` hears the part that is sent. */
export function post({ url, fields }, file, told = () => {}) {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  form.append("file", file);
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest(); // fetch does not tell how much is sent
    request.upload.addEventListener("progress", ({ loaded, total }) => told(total ? loaded / total : 0));
    request.addEventListener("load", () => (request.status < 300 ? resolve() : reject(new Error("the file storage refused it; try again"))));
    request.addEventListener("error", () => reject(new Error("the upload failed; try again")));
    request.open("POST", url);
    request.send(form);
  });
}

"""An OpenAI client with only its base URL and key changed: memory is applied.

MNEMON_KEY=mnk_… python examples/openai_client.py
"""

import os

from openai import OpenAI

url = os.environ.get("MNEMON_URL", "http://127.0.0.1:8765")
client = OpenAI(base_url=f"{url}/v1", api_key=os.environ["MNEMON_KEY"])
model = client.models.list().data[0].id
for said in ("My name is Ann and I live in Austin.", "Where do I live?"):
    reply = client.chat.completions.create(model=model, user="ann", messages=[{"role": "user", "content": said}])
    print(f"> {said}\n{reply.choices[0].message.content}")

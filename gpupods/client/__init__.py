"""The Python client: `Client` for threads, `AsyncClient` for asyncio, and what they answer.

``answer`` has the values, ``convert`` makes them from the contract's messages, ``errors`` says
what may go wrong, ``channel`` how a server is reached. Import the names from `gpupods`.
"""
